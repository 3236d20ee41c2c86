import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../../../../../scripts/services/index.mjs';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/database';
import { insertOrders } from '../../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../../test/support/world';
import { RelayEvents } from '../../events/relay-events';
import { migrate } from '../../migrate';
import { onDataSource } from '../../order/order-rows';
import { examineTransactionIds } from './examine-transaction-ids';
import { examineRelay } from './examine-relay';
import { examineSlots } from './examine-slots';

/* What others do on the same server of Postgres, in databases of their own, and what it does to us. */

const MINUTE_S = 60;
const IDS = 100;

let folder: string;
let server: Awaited<ReturnType<typeof startPostgres>>;
let databases: TestDatabase[];
let world: World;
let neighbour: Client;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lastcall-neighbours-'));
  // Root's servers run as somebody else.
  chmodSync(folder, 0o711);
  server = await startPostgres({
    dataDir: join(folder, 'data'),
    logFile: join(folder, 'postgres.log'),
    password: 'secret',
    durable: false,
    settings: {
      wal_level: 'logical',
      max_wal_senders: 2,
      max_prepared_transactions: 2,
      // Its own transactions are nobody's whom anybody could end.
      autovacuum: 'off',
    },
  });
  const made = { databaseUrl: server.url };
  databases = [await createTestDatabase(made), await createTestDatabase(made)];
  const [ours, theirs] = databases as [TestDatabase, TestDatabase];
  await migrate({ DATABASE_URL: ours.url, DATABASE_ROLE: 'lastcall_app' });
  world = await openWorld({ databaseUrl: ours.appUrl });
  neighbour = new Client({ connectionString: theirs.url, application_name: 'nightly' });
  await neighbour.connect();
  await neighbour.query('CREATE TABLE figures (n int)');
});
afterAll(async () => {
  await neighbour?.end();
  await world?.close();
  for (const database of databases ?? []) await database.drop();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const place = async () => {
  const owner = new Client({ connectionString: databases[0]?.url });
  await owner.connect();
  const rows = async <T>(sql: string, params?: readonly unknown[]): Promise<T[]> =>
    (await owner.query(sql, params as unknown[])).rows as T[];
  await insertOrders({ rows }, { count: 1, closesInMs: 600_000 });
  await owner.end();
};
const relayed = () => world.get(RelayEvents).runOnce();
const relay = () => examineRelay(onDataSource(world.dataSource), MINUTE_S);
const theirName = () => new URL(databases[1]?.url as string).pathname.slice(1);

describe('an event that does not leave', () => {
  it('has who holds it up named: a session that writes in another database', async () => {
    await neighbour.query('BEGIN; INSERT INTO figures VALUES (1)');
    await place();
    expect(await relayed()).toEqual({ relayed: 0 });
    const { pid } = (await neighbour.query('SELECT pg_backend_pid() AS pid')).rows[0] as {
      pid: number;
    };
    const check = await relay();
    expect(check).toMatchObject({ state: 'finding' });
    expect(check.detail).toContain(`of database ${theirName()} that is open: ${pid}`);
    expect(check.fix).toContain(`pg_terminate_backend(${pid})`);
    await neighbour.query('COMMIT');
  });

  it('has a transaction named that is prepared there, and of no session', async () => {
    await relayed();
    await neighbour.query(`BEGIN; INSERT INTO figures VALUES (2); PREPARE TRANSACTION 'it''s'`);
    await place();
    expect(await relayed()).toEqual({ relayed: 0 });
    const check = await relay();
    expect(check.detail).toContain(
      `of database ${theirName()} that is open: prepared 'it''s' since`,
    );
    expect(check.fix).toContain(`ROLLBACK PREPARED 'it''s'`);
    await neighbour.query(`ROLLBACK PREPARED 'it''s'`);
  });

  it('lacks a worker where nobody holds it up, also with somebody who has begun since', async () => {
    await neighbour.query('BEGIN; INSERT INTO figures VALUES (3)');
    const check = await relay();
    await neighbour.query('COMMIT');
    expect(check).toMatchObject({
      state: 'finding',
      fix: expect.stringContaining('worker') as string,
    });
    expect(await relayed()).toEqual({ relayed: 1 });
  });
});

describe('transaction IDs that are used up', () => {
  const burn = () =>
    neighbour.query(
      `DO $$ BEGIN FOR i IN 1..${IDS} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`,
    );
  const used = (limit?: number) => examineTransactionIds(world.dataSource, limit);

  it('are told of once they are many, and what autovacuum is to look into where nothing keeps them', async () => {
    await burn();
    expect(await used()).toMatchObject({ state: 'ok', detail: '0 of 2147 million in use' });
    expect(await used(IDS)).toMatchObject({
      state: 'finding',
      fix: expect.stringContaining('VACUUM (FREEZE)') as string,
    });
  });

  it('have who keeps them named: a slot, a session, what is prepared', async () => {
    const keptBy = async (what: string) => {
      await burn();
      expect((await used(IDS)).detail).toContain(`in use, kept by ${what}`);
    };
    await neighbour.query(`BEGIN; INSERT INTO figures VALUES (4); PREPARE TRANSACTION 'old'`);
    await keptBy(`prepared transaction 'old' of database ${theirName()}`);
    await neighbour.query(`ROLLBACK PREPARED 'old'`);

    const reader = new Client({ connectionString: databases[1]?.url });
    await reader.connect();
    const { rows } = await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    await keptBy(`session ${rows[0]?.pid} of database ${theirName()}`);
    await reader.end();

    await neighbour.query(`SELECT pg_create_logical_replication_slot('bi', 'pgoutput')`);
    await keptBy(`replication slot 'bi'`);
    await neighbour.query(`SELECT pg_drop_replication_slot('bi')`);
  });
});

it('a replication slot that nobody reads is told of once it keeps much', async () => {
  const slots = (limit?: number) => examineSlots(world.dataSource, limit);
  await neighbour.query(`SELECT pg_create_logical_replication_slot('bi', 'pgoutput')`);
  await neighbour.query('INSERT INTO figures SELECT generate_series(1, 10000)');
  expect(await slots()).toMatchObject({ state: 'ok' });
  const check = await slots(100_000);
  expect(check).toMatchObject({ state: 'warning' });
  expect(check.detail).toMatch(/'bi' 0\.\d GB/);
  expect(check.fix).toContain(`pg_drop_replication_slot('bi')`);
  await neighbour.query(`SELECT pg_drop_replication_slot('bi')`);
  expect(await slots(100_000)).toMatchObject({ state: 'ok' });
});
