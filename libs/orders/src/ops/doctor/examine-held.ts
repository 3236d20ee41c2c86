import { listHeld, queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Check, finding, ok } from './check';

const NAME = 'held deadlines';

/** Deadlines of hosts whose handler failed too often: they wait for somebody. */
export async function examineHeld(dataSource: DataSource): Promise<Check> {
  const sql = { rows: <T>(text: string, params = []) => queryRows<T>(dataSource, text, params) };
  const { count, items } = await listHeld(sql, { limit: 1 });
  const [first] = items;
  if (!first) return ok('flow', NAME, 'none');
  const { kind, subjectId, heldAt, error } = first;
  return finding(
    'flow',
    NAME,
    `${count}, the first since ${heldAt.toISOString()}: ${JSON.stringify(kind)} of ${JSON.stringify(subjectId)} (${error})`,
    'mend its cause, then lastcall timeouts release SUBJECT --reason TEXT; timeouts verify shows the others',
  );
}
