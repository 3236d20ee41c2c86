import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { runInvariants } from '../invariants/run-invariants';
import { MoneyMovements1763700100000 } from '../migrations/1763700100000-money-movements';

/** Money that moved before there were movements: what the migration says of it. */
describe('the migration to money movements', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());

  it('says of every payment and refund what their rows say', async () => {
    const migration = new MoneyMovements1763700100000();
    const runner = (await world.owner.dataSource()).createQueryRunner();
    await migration.down(runner);
    const orders = await insertOrders(world, { count: 5, closesInMs: 60_000, payment: 'open' });
    const [open, held, ...refunded] = orders.map(({ paymentId }) => paymentId as string);
    await world.rows(
      `UPDATE payments SET status = 'succeeded', captured_amount = amount, recorded_at = now(),
              captured_currency = currency WHERE id <> $1`,
      [open],
    );
    await world.rows(`UPDATE payments SET hold_reason = 'late_payment' WHERE id = $1`, [held]);
    await world.rows(
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, finished_at)
       SELECT gen_random_uuid(), id, 'late_payment', 500, 'EUR', status,
              CASE status WHEN 'succeeded' THEN now() END
         FROM unnest($1::uuid[], '{succeeded,pending,needs_attention}'::text[]) AS r (id, status)`,
      [refunded],
    );
    await migration.up(runner);
    await runner.release();
    const rows = await world.rows<{ kinds: string[] }>(
      `SELECT array_agg(m.kind ORDER BY m.id) AS kinds FROM payments p
         LEFT JOIN money_movements m ON m.payment_id = p.id
        WHERE p.id = ANY ($1::uuid[]) GROUP BY p.id ORDER BY array_position($1::uuid[], p.id)`,
      [orders.map(({ paymentId }) => paymentId)],
    );
    expect(rows.map(({ kinds }) => kinds)).toEqual([
      [null],
      ['captured', 'held'],
      ['captured', 'refund_requested', 'refund_succeeded'],
      ['captured', 'refund_requested'],
      ['captured', 'refund_requested', 'refund_failed'],
    ]);
    const results = await runInvariants(world, { limitMs: 60_000, newest: 'all' });
    expect(results.find(({ id }) => id === 13)).toMatchObject({ violations: 0 });
  });
});
