import { Client } from 'pg';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { OrdersHavePayments1764080000000 } from '../migrations/1764080000000-orders-have-payments';
import { PaymentsTellOrders1764080001000 } from '../migrations/1764080001000-payments-tell-orders';
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
const ids = async (count: number, payment?: 'open'): Promise<string[]> => {
  const wanted = { count, closesInMs: 60_000, ...(payment ? { payment } : {}) };
  return (await insertOrders(world, wanted)).map(({ id }) => id);
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

  it('that was unpaid when it was taught so knows of those before, whatever became of its deadline', async () => {
    const runner = (await world.owner.dataSource()).createQueryRunner();
    const migrations = [
      new OrdersHavePayments1764080000000(),
      new PaymentsTellOrders1764080001000(),
      new UnpaidOrdersHavePayments1764080002000(),
    ];
    for (const one of [...migrations].reverse()) await one.down(runner);
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
    for (const one of migrations) await one.up(runner);
    await runner.release();
    expect(await known([none, open, held, lost])).toEqual([false, true, true, true]);
  });
});
