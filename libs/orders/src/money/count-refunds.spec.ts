import { inTransaction } from '@app/timeout';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { countRefunds } from './count-refunds';

describe('countRefunds', () => {
  let world: World;
  let paymentId: string;
  beforeAll(async () => {
    world = await openWorld();
    const [order] = await insertOrders(world, { count: 1, closesInMs: 1, payment: 'open' });
    paymentId = order?.paymentId as string;
  });
  afterAll(() => world?.close());

  const OTHERS = { needs_attention: 5, canceled: 6 };
  const insert = (status: string, count: number) =>
    world.rows(
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, status)
       SELECT gen_random_uuid(), $1, gen_random_uuid()::text, 1, 'EUR', $2
         FROM generate_series(1, $3::int)`,
      [paymentId, status, count],
    );

  it('counts each status', async () => {
    const counts = { requested: 1, pending: 2, succeeded: 3, failed: 4, ...OTHERS };
    for (const [status, count] of Object.entries(counts)) await insert(status, count);
    expect(await countRefunds(world)).toEqual(counts);
  });

  it('reads little of a large table, and is about right', async () => {
    await insert('succeeded', 40_000);
    await world.rows('ANALYZE refunds');
    const [counts, rowsRead] = await inTransaction(world.dataSource, async (tx) => {
      const counts = await countRefunds(tx);
      const [stat] = await tx.rows<{ n: string }>(
        `SELECT seq_tup_read + idx_tup_fetch AS n FROM pg_stat_xact_user_tables
          WHERE relname = 'refunds'`,
      );
      return [counts, Number(stat?.n)] as const;
    });
    expect(counts).toMatchObject({ failed: 4, needs_attention: 5 });
    expect(counts.succeeded).toBeGreaterThan(36_000);
    expect(counts.succeeded).toBeLessThan(44_000);
    expect(rowsRead).toBeGreaterThan(0);
    expect(rowsRead).toBeLessThan(11_000);
  });
});
