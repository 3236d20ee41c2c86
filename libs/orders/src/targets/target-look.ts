import { findPlace, inTransaction, queryRows, Subjects, type Transaction } from '@app/timeout';
import type { DataSource } from 'typeorm';
import type { Config } from '../config';
import { LastcallError } from '../order/errors';
import { rehearse } from '../order/rehearse';
import { MOST_OF_EACH, TargetDesk, type TargetVerdict } from './target-desk';
import type { TargetSql } from './target-sql';
import {
  countTargetWaits,
  type TargetExit,
  type TargetWait,
  type TargetWaitName,
} from './target-waits';

/** Waits of one kind that a list had no room for. */
export interface UnlistedWaits {
  readonly what: TargetWaitName;
  readonly count: number;
}

/**
 * What waits for a person in a shop whose orders are in tables of its own, seen and ended from outside of
 * the shop's process: by its next sweep it does what it is told.
 */
export class TargetLook {
  private constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string,
    private readonly desk: TargetDesk,
  ) {}

  /** @throws {LastcallError} not_found where there are no close targets, or their tables are of an older version */
  static async open({
    DATABASE_URL: url,
    DATABASE_SCHEMA: schema,
  }: Pick<Config, 'DATABASE_URL' | 'DATABASE_SCHEMA'>): Promise<TargetLook> {
    const place = await findPlace({ url }, schema);
    const dataSource = await place.open({ name: 'lastcall targets', connections: 1 });
    const tables = await targetTables((sql, params) => queryRows(dataSource, sql, params), schema);
    if (tables !== 'whole') {
      await dataSource.destroy();
      const message =
        tables === 'none'
          ? `The schema "${schema}" has no tables of close targets: the shop's own process makes them, ` +
            'and DATABASE_SCHEMA says where'
          : `The tables of close targets in the schema "${schema}" ${OLDER_TABLES}: ${MIGRATE_TARGETS}`;
      throw new LastcallError('not_found', message);
    }
    const subjects = new Subjects(schema);
    const desk = new TargetDesk(schema, (tx, due) => subjects.arm(tx, due));
    return new TargetLook(dataSource, schema, desk);
  }

  /** The oldest first; of each kind at most so many, and how many more there are. */
  list({
    overdue = false,
    mostOfEach = MOST_OF_EACH,
  }: { readonly overdue?: boolean; readonly mostOfEach?: number } = {}): Promise<{
    items: TargetWait[];
    unlisted: UnlistedWaits[];
  }> {
    return inTransaction(this.dataSource, async (tx) => {
      const sql = asSql(tx);
      const listed = await this.desk.list(sql, mostOfEach);
      const items = listed.filter((one) => one.isOverdue || !overdue);
      if (listed.length < mostOfEach) return { items, unlisted: [] };
      const counts = await countTargetWaits(sql, this.schema);
      const unlisted = counts.map(({ what, ...all }) => {
        const shown = items.filter((one) => one.what === what).length;
        return { what, count: (overdue ? all.overdue : all.count) - shown };
      });
      return { items, unlisted: unlisted.filter(({ count }) => count > 0) };
    });
  }

  /** The contract is `CloseTargets.settle`'s; a dry run is the real transaction, rolled back. */
  settle(
    id: string,
    exit: TargetExit,
    { dryRun = false, ...given }: TargetVerdict & { readonly dryRun?: boolean },
  ): Promise<TargetWait> {
    return rehearse(dryRun, this.dataSource, (tx) => this.desk.settle(asSql(tx), id, exit, given));
  }

  close(): Promise<void> {
    return this.dataSource.destroy();
  }
}

/** In an operator's words. */
export const OLDER_TABLES = 'are of an older version than this command';
export const MIGRATE_TARGETS =
  "run the migrations: the shop's own process does, once it has this version, or migrateCloseTargets";

/** The tables of close targets in this schema; `older`: not all that this version has in them is there. */
export async function targetTables(
  query: <Row>(sql: string, params: readonly unknown[]) => Promise<Row[]>,
  schema: string,
): Promise<'none' | 'older' | 'whole'> {
  // The first that was ever made, and what the newest migration makes.
  const sql = `SELECT CASE WHEN to_regclass($1) IS NULL THEN 'none'
                           WHEN EXISTS (SELECT FROM pg_attribute
                                         WHERE attrelid = to_regclass($1) AND attname = 'error') THEN 'whole'
                           ELSE 'older' END AS tables`;
  const [row] = await query<{ tables: 'none' | 'older' | 'whole' }>(sql, [
    `"${schema}".target_orders`,
  ]);
  return row?.tables ?? 'none';
}

const asSql = (tx: Transaction): TargetSql => ({
  query: (sql, params = []) => tx.rows(sql, params),
});
