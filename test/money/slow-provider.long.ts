import { TimeoutService } from '@app/timeout';
import { insertOrders } from '../support/insert-orders';
import { type StartedShop, startShop } from '../support/shop';
import { startStopwatch } from '../support/stopwatch';
import { until } from '../support/until';

/** Longer than the sandbox's adapter waits (3 s), so that nothing is known before this is over. */
const SLOW_MS = 4_000;
const FAST_MS = 2_000;
const ORDERS = 300;

describe('a provider that takes too many seconds for every answer', () => {
  let shop: StartedShop;

  beforeAll(async () => {
    shop = await startShop();
  });
  afterAll(async () => {
    await shop?.sandbox('DELETE', '/v1/faults');
    await shop?.close();
  });

  it('delays nobody else: orders without a payment close while it thinks', async () => {
    await shop.faults({ dropWebhooks: true });
    const careful = await Promise.all(
      Array.from({ length: 15 }, () => shop.placeWithPayment().then(({ orderId }) => orderId)),
    );
    await shop.faults({ latencyMs: SLOW_MS });
    await shop.passDeadline(careful);
    await until('all of them are behind the fence, being asked about', async () => {
      const statuses = await Promise.all(careful.map((id) => shop.orderStatus(id)));
      return statuses.every((status) => status === 'closing');
    });

    // Rings and sweeps come to their end, though fifteen times three slow answers are outstanding.
    const tookMs = startStopwatch();
    const fast = await insertOrders(shop.sql, { count: ORDERS, closesInMs: 100 });
    const ids = fast.map(({ id }) => id);
    const timeouts = shop.app.app.get(TimeoutService);
    await until('the fast lane is through', async () => {
      await timeouts.drainAll('timer');
      const [row] = await shop.sql.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM orders WHERE id = ANY ($1::uuid[]) AND status = 'closed'`,
        [ids],
      );
      return row?.n === ORDERS;
    });
    // Well before the first of those calls is given up.
    expect(tookMs()).toBeLessThan(FAST_MS);
    const statuses = await Promise.all(careful.map((id) => shop.orderStatus(id)));
    expect(new Set(statuses)).toEqual(new Set(['closing']));

    await shop.faults({ latencyMs: 0 });
    for (const id of careful) await shop.untilOrder(id, 'closed');
    await shop.untilSound();
  });
});
