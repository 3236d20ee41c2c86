import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { migrate } from '@app/orders';
import { refusalOfDatabase } from '../../libs/orders/src/order/database-refusal';
import { PlaceOrder } from '../../libs/orders/src/placing/place-order';
import { startPostgres } from '../../scripts/services/index.mjs';
import { findPostgresPrograms } from '../../scripts/services/postgres-programs.mjs';
import {
  asMigrating,
  asOwner,
  createTestDatabase,
  type Owner,
  type TestDatabase,
} from '../support/database';
import { insertOrders, TEST_SKU } from '../support/insert-orders';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';

/*
 * docs/operations.md, "How each fault looks": a Postgres that has no transaction ID left, made by its own
 * pg_resetwal, as two thousand million take too long.
 */

/** So many before its last transaction ID Postgres writes nothing any more. */
const KEPT_BACK = 3_000_000;
const LAST = 2 ** 31 - 1;
/** For what this test writes before it is so far. */
const LEFT = 2_000;
/** Transactions of one file of pg_xact, and its bytes. */
const [OF_A_FILE, FILE_BYTES] = [2 ** 20, 2 ** 18];
const BURN = `DO $$ BEGIN FOR i IN 1..${LEFT} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`;
const ORDERS = 3;

const folder = mkdtempSync(join(tmpdir(), 'lastcall-transaction-ids-'));
let server: Awaited<ReturnType<typeof startPostgres>>;
let database: TestDatabase;
let owner: Owner | undefined;
let world: World | undefined;

beforeAll(async () => {
  // Root's servers run as somebody else.
  chmodSync(folder, 0o711);
  server = await start();
  database = await createTestDatabase({ databaseUrl: server.url });
  await migrate(asMigrating(database.url));
});
afterAll(async () => {
  await world?.close();
  await owner?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('refuses as one that is away, and goes on once nothing keeps old ones any more', async () => {
  owner = asOwner(database.url);
  await owner.rows(`SELECT pg_create_logical_replication_slot('bi', 'pgoutput')`);
  const [row] = await owner.rows<{ oldest: string }>(
    'SELECT datfrozenxid::text AS oldest FROM pg_database ORDER BY age(datfrozenxid) DESC LIMIT 1',
  );
  await owner.close();
  await server.stop();
  countTo(Number(row?.oldest));
  server = await start(server.port);

  owner = asOwner(database.url);
  world = await openWorld({ databaseUrl: database.appUrl });
  await insertOrders(owner, { count: ORDERS, closesInMs: -1_000 });
  await expect(owner.rows(BURN)).rejects.toThrow('wraparound');
  expect(await place(world).catch(refusalOfDatabase)).toMatchObject({ code: 'unavailable' });
  await expect(world.timeouts.drainAll('timer')).rejects.toThrow('wraparound');

  await owner.rows(`SELECT pg_drop_replication_slot('bi')`);
  const placed = await until('it writes again', () =>
    place(world as World).catch((error: unknown) => {
      if (refusalOfDatabase(error)?.code !== 'unavailable') throw error;
      return undefined;
    }),
  );
  expect(placed.order.status).toBe('pending_payment');
  await world.timeouts.drainAll('timer');
  expect(
    await owner.rows('SELECT status, count(*)::int FROM orders GROUP BY status ORDER BY 1'),
  ).toEqual([
    { status: 'closed', count: ORDERS },
    { status: 'pending_payment', count: 1 },
  ]);
  expect(await owner.rows('SELECT FROM held_deadlines')).toEqual([]);
});

const start = (port?: number) =>
  startPostgres({
    ...{ dataDir: join(folder, 'data'), logFile: join(folder, 'log'), password: 'owner' },
    ...{ durable: false, programs: programs(), ...(port === undefined ? {} : { port }) },
    settings: { wal_level: 'logical', max_wal_senders: 2, autovacuum_naptime: '1s' },
  });

function programs(): NonNullable<ReturnType<typeof findPostgresPrograms>> {
  const found = findPostgresPrograms();
  if (!found)
    throw new Error('PostgreSQL is not installed here: npm run test:engines says what to do');
  return found;
}

/** As if all but a few transactions had been since `oldest`, which something still needs. */
function countTo(oldest: number): void {
  const next = oldest + LAST - KEPT_BACK - LEFT;
  const { dataDir } = server;
  const { uid, gid } = statSync(dataDir);
  const args = ['-x', `${next}`, '-u', `${oldest}`, '-D', dataDir];
  const reset = join(dirname(programs().postgres), 'pg_resetwal');
  const { status, stderr } = spawnSync(reset, args, { encoding: 'utf8', uid, gid });
  if (status !== 0) throw new Error(stderr);
  const name = Math.floor(next / OF_A_FILE)
    .toString(16)
    .toUpperCase()
    .padStart(4, '0');
  const file = join(dataDir, 'pg_xact', name);
  writeFileSync(file, Buffer.alloc(FILE_BYTES), { mode: 0o600 });
  chownSync(file, uid, gid);
}

const place = ({ get }: World) =>
  get(PlaceOrder).place({
    customerId: 'ann',
    idempotencyKey: 'once',
    items: [{ sku: TEST_SKU, quantity: 1 }],
  });
