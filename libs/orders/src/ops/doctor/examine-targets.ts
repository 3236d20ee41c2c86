import type { DataSource } from 'typeorm';
import { queryRows } from '@app/timeout';
import { MIGRATE_TARGETS, OLDER_TABLES, targetTables } from '../../targets/target-look';
import { countTargetWaits, TARGET_WAITS, type TargetWaitName } from '../../targets/target-waits';
import { type Check, expectation, finding } from './check';

const FIX = 'lastcall targets list tells what; then lastcall targets settle ID --as ...';

/** What waits for a person of orders in a shop's own tables; nothing where there are none. */
export async function examineTargets(dataSource: DataSource, schema: string): Promise<Check[]> {
  const sql = {
    query: <Row>(text: string, params: readonly unknown[] = []): Promise<Row[]> =>
      queryRows<Row>(dataSource, text, params),
  };
  const tables = await targetTables(sql.query, schema);
  if (tables === 'none') return [];
  if (tables === 'older') {
    return [finding('postgres', 'close targets: tables', OLDER_TABLES, MIGRATE_TARGETS)];
  }
  const waits = new Map((await countTargetWaits(sql, schema)).map((one) => [one.what, one]));
  return (Object.keys(TARGET_WAITS) as TargetWaitName[]).map((what) => {
    const { count = 0, overdue = 0, oldest } = waits.get(what) ?? {};
    const since = oldest ? `, the oldest since ${oldest.toISOString()}` : '';
    const detail = `${count}, ${overdue} for longer than they may${since}`;
    const name = `close targets: ${TARGET_WAITS[what].title}`;
    return expectation('flow', name, overdue === 0, detail, FIX);
  });
}
