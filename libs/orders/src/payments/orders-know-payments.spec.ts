import { RedlockLock } from '@app/timeout';
import { Client } from 'pg';
import type { QueryRunner } from 'typeorm';
import { testServers } from '../../../../test/support/database';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { OrdersHavePayments1764080000000 } from '../migrations/1764080000000-orders-have-payments';
import { PaymentsTellOrders1764080001000 } from '../migrations/1764080001000-payments-tell-orders';
import { OrdersBeginUnpaid1764080001500 } from '../migrations/1764080001500-orders-begin-unpaid';
import { UnpaidOrdersHavePayments1764080002000 } from '../migrations/1764080002000-unpaid-orders-have-payments';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const known = async (ids: readonly string[]): Promise<boolean[]> => {
  const rows = await world.rows<{ id: string; has_payments: boolean }>(
    'SELECT id, has_payments FROM orders WHERE id = ANY ($1::uuid[])',
    [ids],
  );
  return ids.map((id) => rows.find((row) => row.id === id)?.has_payments as boolean);
};
const ids = async (count: number, payment?: 'open', closesInMs = 60_000): Promise<string[]> => {
  const wanted = { count, closesInMs, ...(payment ? { payment } : {}) };
  return (await insertOrders(world, wanted)).map(({ id }) => id);
};

/** One after the other, each committed: workers of this version may run between them. */
const ROWS_SAY_SO = [
  new OrdersHavePayments1764080000000(),
  new PaymentsTellOrders1764080001000(),
  new OrdersBeginUnpaid1764080001500(),
  new UnpaidOrdersHavePayments1764080002000(),
];
const migrating = async (work: (runner: QueryRunner) => Promise<void>): Promise<void> => {
  const runner = (await world.owner.dataSource()).createQueryRunner();
  await work(runner).finally(() => runner.release());
};
const teach = (migrations: typeof ROWS_SAY_SO): Promise<void> =>
  migrating(async (runner) => {
    for (const one of migrations) await one.up(runner);
  });
/** As before any row said so. */
const unteach = (): Promise<void> =>
  migrating(async (runner) => {
    for (const one of [...ROWS_SAY_SO].reverse()) await one.down(runner);
  });
/** Whether its provider was to be asked before it was closed. */
const fenced = async (orderIds: readonly string[]): Promise<boolean[]> => {
  const rows = await world.rows<{ id: string }>(
    `SELECT order_id AS id FROM order_events WHERE to_status = 'closing' AND order_id = ANY ($1::uuid[])`,
    [orderIds],
  );
  return orderIds.map((id) => rows.some((row) => row.id === id));
};

describe('an order', () => {
  it('knows of a payment that somebody begins, in whatever way', async () => {
    const [none, other] = (await ids(2)) as [string, string];
    expect(await known([none, other, ...(await ids(2, 'open'))])).toEqual([
      false,
      false,
      true,
      true,
    ]);
    const stranger = new Client({ connectionString: world.config.DATABASE_URL });
    await stranger.connect();
    await stranger.query('SET search_path = pg_catalog');
    const { rows } = await stranger.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relname = 'payments'`,
    );
    await stranger.query(
      `INSERT INTO ${rows[0]?.name} (id, order_id, provider, amount, currency, expires_at)
       VALUES (gen_random_uuid(), $1, 'sandbox', 100, 'EUR', now())`,
      [other],
    );
    await stranger.end();
    expect(await known([none, other])).toEqual([false, true]);
  });

  it('that an older version had begun to teach knows of those before, whatever became of its deadline', async () => {
    await unteach();
    const [none, open, held, lost] = [...(await ids(1)), ...(await ids(3, 'open'))] as [
      string,
      string,
      string,
      string,
    ];
    await world.rows(
      `WITH taken AS (DELETE FROM deadlines WHERE subject_id = $1 RETURNING *)
       INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
       SELECT kind, subject_id, due_at, version, 8, 'a bug' FROM taken`,
      [held],
    );
    await world.rows('DELETE FROM deadlines WHERE subject_id = $1', [lost]);
    await world.rows('ALTER TABLE orders ADD COLUMN has_payments boolean NOT NULL DEFAULT false');
    await teach(ROWS_SAY_SO.slice(1));
    expect(await known([none, open, held, lost])).toEqual([false, true, true, true]);
  });

  it('of which nobody was told yet is closed by no batch while a payment of it is open', async () => {
    await unteach();
    const before = await ids(1, 'open', -1_000);
    const redis = testServers().redisUrl;
    const lock = new RedlockLock({ redis, onError: () => undefined, callTimeoutMs: 10_000 });
    const worker = await openWorld({ beside: world, lock });
    try {
      for (const one of ROWS_SAY_SO) {
        await teach([one]);
        const orders = [...before.splice(0), ...(await ids(1, 'open', -1_000))];
        await worker.timeouts.runSweep();
        expect(await fenced(orders)).toEqual(orders.map(() => true));
      }
    } finally {
      await worker.close();
    }
    // Those that come now are known from the beginning.
    expect(await known(await ids(1))).toEqual([false]);
  });
});
