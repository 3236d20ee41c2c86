import type { CloseResult } from '@app/orders';
import { WEBHOOK_SECRET } from '../../support/app';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { type InsertedOrder, insertOrders } from '../../support/insert-orders';
import { lastcall, lastcallJson } from '../../support/lastcall';
import { statusesOf } from '../../support/order-statuses';
import { sendWebhook } from '../../support/send-webhook';
import { until } from '../../support/until';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

interface Outcome {
  closed: number;
  skipped: number;
  failed: number;
  orders: CloseResult[];
}

describe('lastcall orders force-close', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  it('reports what the database says when a thousand closes race with webhooks', async () => {
    const orders = await insertOrders(world.sql, {
      count: 1_000,
      closesInMs: 600_000,
      customerId: 'racer',
      payment: 'failed',
    });
    const ids = orders.map(({ id }) => id);
    const args = ['orders', 'force-close', '--file', '-', '--reason', 'race', '--yes'];
    const half = orders.filter((_, index) => index % 2 === 0);
    // One comes before the command has begun; the others meet it.
    expect(await payInTurn(half.slice(0, 1))).toEqual(new Set([200]));
    const paying = payInTurn(half.slice(1));
    const closing = lastcallJson<Outcome>(world.config, args, { input: ids.join('\n') });
    const { code, result } = await closing;
    const paidFirst = result.orders.filter(({ status }) => status === 'paid').length;
    // Those paid from now on are closed already: what was reported stays true.
    expect(await paying).toEqual(new Set([200]));
    const statuses = await statusesOf(world.sql, ids);
    expect(result.orders.map(({ status }) => status)).toEqual(statuses);
    expect(code).toBe(paidFirst > 0 ? 5 : 0);
    expect(result).toMatchObject({ closed: 1_000 - paidFirst, skipped: paidFirst, failed: 0 });
    expect(paidFirst).toBeGreaterThan(0);
    expect(paidFirst).toBe(statuses.filter((status) => status === 'paid').length);
    // Every one of them brought money: kept where it came first, on its way back elsewhere. A notice
    // that met the close at the guard is in the inbox, for whoever sweeps next.
    await until(
      'no notice waits',
      async () => {
        await lastcall(world.config, ['sweep', 'run']);
        const waiting = await world.sql.rows(
          `SELECT 1 FROM webhook_events WHERE status <> 'processed'`,
        );
        return waiting.length === 0;
      },
      CLI_TEST_TIMEOUT_MS,
    );
    const refunds = await world.sql.rows(
      `SELECT 1 FROM refunds WHERE payment_id = ANY ($1) AND reason = 'late_payment'`,
      [half.map(({ paymentId }) => paymentId)],
    );
    expect(refunds).toHaveLength(half.length - paidFirst);
  });

  /** The provider tells of each payment, one after the other; resolves with the answers' statuses. */
  async function payInTurn(orders: readonly InsertedOrder[]): Promise<Set<number>> {
    const statuses = new Set<number>();
    for (const { paymentId, amount } of orders) {
      const data = {
        providerPaymentId: `pay-${paymentId}`,
        reference: paymentId,
        amount,
        currency: 'EUR',
        paidAt: new Date().toISOString(),
      };
      const body = JSON.stringify({ type: 'payment.succeeded', data });
      statuses.add(await sendWebhook(world.baseUrl, WEBHOOK_SECRET, body));
    }
    return statuses;
  }
});
