import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { createTestDatabase } from '../../../test/support/database';

/*
 * An index takes as long as it takes to read its table, and each migration is one transaction: what has been locked
 * before it is locked for as long. So it is built before its transaction locks anything else that exists
 * already, or in a transaction of its own.
 */

const FOLDERS = [
  join(__dirname, 'migrations'),
  join(__dirname, '../../timeout/src/migrations'),
  join(__dirname, '../../timeout/src/drivers/postgres'),
];

/** What readers of these tables waited for when they were as good as empty. */
const OF_SMALL_TABLES = [
  'MoneyMovements1763700100000 refunds',
  'MoneyAfterPaid1763700120000 refunds',
  'HistorySeals1763900013000 operator_actions',
  'FoldBySku1763980000000 unfolded_stock_movements',
  'ReturnedMoneyInParts1764020000000 refunds',
  'CloseTargetTwice1764032000000 target_refunds',
  'AlarmsByInstant1764040000000 alarms',
  'BrakesOfKinds1764140000000 timeout_brakes',
];

/** Oldest first, as they are run. */
function allMigrations(): [name: string, migration: MigrationInterface][] {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => /^\d{13}-.*\.ts$/.test(file))
      .map((file) => join(folder, file)),
  );
  const classes = files.flatMap((file) =>
    Object.entries(jest.requireActual<Record<string, new () => MigrationInterface>>(file)),
  );
  return classes
    .filter(([name]) => /\d{13}$/.test(name))
    .sort(([a], [b]) => Number(a.slice(-13)) - Number(b.slice(-13)))
    .map(([name, Migration]) => [name, new Migration()]);
}

/** Tables that this transaction keeps from others who write them, or, as it may change them, from all. */
const HELD = `
  SELECT c.relname AS name, bool_or(l.mode = 'AccessExclusiveLock') AS "fromAll"
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
   WHERE l.pid = pg_backend_pid() AND l.granted AND c.relkind IN ('r', 'p')
     AND c.relnamespace = 'public'::regnamespace
     AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
   GROUP BY 1`;
const TABLES = `SELECT relname AS name FROM pg_class
                 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')`;

/** Runs it in a transaction; answers with each table that it reads for an index while it holds another one, or all of it. */
async function readBehindLocks(runner: QueryRunner, migration: MigrationInterface) {
  const found: string[] = [];
  const old = new Set(((await runner.query(TABLES)) as { name: string }[]).map(({ name }) => name));
  const query = runner.query.bind(runner);
  runner.query = (async (sql: string, values?: unknown[]): Promise<unknown> => {
    const table = /CREATE\s+(?:UNIQUE\s+)?INDEX[\s\w]*?\sON\s+(\w+)/.exec(sql)?.[1];
    if (table && old.has(table)) {
      const held = (await query(HELD)) as { name: string; fromAll: boolean }[];
      const blocked = held.filter(
        ({ name, fromAll }) => old.has(name) && (name !== table || fromAll),
      );
      if (blocked.length > 0) found.push(table);
    }
    return query(sql, values) as Promise<unknown>;
  }) as QueryRunner['query'];
  await runner.startTransaction();
  await migration.up(runner).finally(() => (runner.query = query));
  await runner.commitTransaction();
  return [...new Set(found)];
}

it('no migration reads a table for an index while it keeps another one, or all of it, from others', async () => {
  const database = await createTestDatabase();
  const dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  try {
    const runner = dataSource.createQueryRunner();
    const found: string[] = [];
    for (const [name, migration] of allMigrations()) {
      for (const table of await readBehindLocks(runner, migration)) found.push(`${name} ${table}`);
    }
    await runner.release();
    expect(found).toEqual(OF_SMALL_TABLES);
  } finally {
    await dataSource.destroy();
    await database.drop();
  }
});
