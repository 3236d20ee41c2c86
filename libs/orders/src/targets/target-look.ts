import { findPlace, inTransaction, queryRows, Subjects, type Transaction } from '@app/timeout';
import type { DataSource } from 'typeorm';
import type { Config } from '../config';
import { LastcallError } from '../order/errors';
import { rehearse } from '../order/rehearse';
import { TargetDesk, type TargetVerdict } from './target-desk';
import type { TargetExit, TargetSql, TargetWait } from './target-waits';

/**
 * What waits for a person in a shop whose orders are in tables of its own, seen and ended from outside of
 * the shop's process: by its next sweep it does what it is told.
 */
export class TargetLook {
  private constructor(
    private readonly dataSource: DataSource,
    private readonly desk: TargetDesk,
  ) {}

  /** @throws {LastcallError} not_found where there are no close targets */
  static async open({
    DATABASE_URL: url,
    DATABASE_SCHEMA: schema,
  }: Pick<Config, 'DATABASE_URL' | 'DATABASE_SCHEMA'>): Promise<TargetLook> {
    const place = await findPlace({ url }, schema);
    const dataSource = await place.open({ name: 'lastcall targets', connections: 1 });
    if (!(await hasTargets(dataSource, schema))) {
      await dataSource.destroy();
      const message =
        `The schema "${schema}" has no tables of close targets: the shop's own process makes them, ` +
        'and DATABASE_SCHEMA says where';
      throw new LastcallError('not_found', message);
    }
    const subjects = new Subjects(schema);
    return new TargetLook(dataSource, new TargetDesk(schema, (tx, due) => subjects.arm(tx, due)));
  }

  list(): Promise<TargetWait[]> {
    return inTransaction(this.dataSource, (tx) => this.desk.list(asSql(tx)));
  }

  /** The contract is `CloseTargets.settle`'s; a dry run is the real transaction, rolled back. */
  settle(
    id: string,
    exit: TargetExit,
    { dryRun = false, ...given }: TargetVerdict & { readonly dryRun?: boolean },
  ): Promise<TargetWait> {
    return rehearse<TargetWait>(dryRun, (end) =>
      inTransaction(this.dataSource, async (tx) =>
        end(await this.desk.settle(asSql(tx), id, exit, given)),
      ),
    );
  }

  close(): Promise<void> {
    return this.dataSource.destroy();
  }
}

/** Of this version: an older process of the shop's has not made them all. */
export async function hasTargets(dataSource: DataSource, schema: string): Promise<boolean> {
  const sql = 'SELECT to_regclass($1) IS NOT NULL AS has';
  const [row] = await queryRows<{ has: boolean }>(dataSource, sql, [
    `"${schema}".target_refunds_twice`,
  ]);
  return row?.has ?? false;
}

const asSql = (tx: Transaction): TargetSql => ({
  query: (sql, params = []) => tx.rows(sql, params),
});
