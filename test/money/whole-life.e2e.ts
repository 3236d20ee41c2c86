import { randomUUID } from 'node:crypto';
import type { OrderView } from '@app/orders';
import { TEST_SKU } from '../support/insert-orders';
import { type Shop, type StartedShop, startShop } from '../support/shop';
import { until } from '../support/until';

/** Deadlines of days pass at once when the books say so: nobody waits for them. */
const SETTINGS = {
  CUSTOMER_EXTENSION: '2m',
  RETURN_URLS: 'https://shop.test/checkout',
};

describe('the whole life of an order', () => {
  let shop: StartedShop;

  beforeAll(async () => {
    shop = await startShop(SETTINGS);
  });
  afterAll(() => shop?.close());

  it('cancels what was not shipped in time, with all the money and the stock back', async () => {
    const order = await paidOrder(shop);
    const before = await stock(shop);
    await pass(shop, order.orderId, 'shipment');
    await shop.untilOrder(order.orderId, 'canceled');
    await shop.untilRefunded(order.orderId);
    expect(await shop.refundsOf(order.orderId)).toMatchObject([{ reason: 'shipment_timeout' }]);
    const after = await stock(shop);
    expect(after).toEqual({ available: before.available + 1, sold: before.sold - 1 });
    await shop.untilSound();
  });

  it('lets the pay page show the lines, the ways back and the time left that payBy says', async () => {
    const order = await shop.place(2);
    const { checkoutUrl, providerPaymentId } = await shop.startPayment(order.id);
    const page = await (await fetch(checkoutUrl as string)).text();
    expect(page).toContain(`2 × ${TEST_SKU}`);
    expect(page).toMatch(/href="https:\/\/shop\.test\/checkout\?order=[\w&;=-]+;result=cancel"/);
    const leftMs = Number(/data-left-ms="(\d+)"/.exec(page)?.[1]);
    const now = await shop.api<OrderView>('GET', `/v1/orders/${order.id}`);
    const byApiMs = Date.parse(now.payBy as string) - Date.parse(now.serverNow);
    // The one was asked for after the other.
    expect(Math.abs(leftMs - byApiMs)).toBeLessThan(20_000);
    await shop.buyerPays(providerPaymentId as string);
    await shop.untilOrder(order.id, 'paid');
    const paid = await (await fetch(checkoutUrl as string)).text();
    expect(paid).toContain(`order=${order.id}&amp;payment=`);
    expect(paid).toContain('result=success');
  });

  it('completes what was shipped, when the customer says so or in time', async () => {
    const [asked, timedOut] = [await paidOrder(shop), await paidOrder(shop)];
    for (const { orderId } of [asked, timedOut]) await ship(shop, orderId);
    const received = await shop.api<OrderView>('POST', `/v1/orders/${asked.orderId}/receipt`);
    // What is paid closes no more, so that no page counts down to it.
    expect([received.status, received.closesAt]).toEqual(['completed', null]);
    await pass(shop, timedOut.orderId, 'receipt');
    await shop.untilOrder(timedOut.orderId, 'completed');
    await shop.untilSound();
  });

  it('waits with the completion while a refund of the order is open', async () => {
    const { orderId } = await paidOrder(shop, 2);
    await ship(shop, orderId);
    await shop.sql.rows(
      `UPDATE refunds SET status = 'needs_attention' WHERE payment_id IN
         (SELECT id FROM payments WHERE order_id = $1)`,
      [orderId],
    );
    await pass(shop, orderId, 'receipt');
    await until('the completion was put off', async () => {
      const [deadline] = await shop.sql.rows(
        `SELECT 1 FROM deadlines WHERE kind = 'receipt' AND subject_id = $1
            AND due_at BETWEEN now() AND now() + interval '2 hours'`,
        [orderId],
      );
      return deadline;
    });
    expect(await shop.orderStatus(orderId)).toBe('shipped');
  });

  it('extends the window once for the customer; the old alarm changes nothing', async () => {
    const order = await shop.place();
    const extend = () =>
      shop.api<OrderView>('POST', `/v1/orders/${order.id}/extension`, { seconds: 60 });
    const extended = await extend();
    const gainedMs = Date.parse(extended.closesAt as string) - Date.parse(order.closesAt as string);
    expect(gainedMs).toBe(60_000);
    await expect(extend()).rejects.toThrow('order_not_extendable');
    // The first deadline rings all the same.
    await shop.sql.rows(
      `UPDATE deadlines SET due_at = now() WHERE kind = 'payment' AND subject_id = $1 AND version = 1`,
      [order.id],
    );
    await until('the old deadline is gone', async () => {
      const rows = await shop.sql.rows(`SELECT 1 FROM deadlines WHERE subject_id = $1`, [order.id]);
      return rows.length === 1;
    });
    expect(await shop.orderStatus(order.id)).toBe('pending_payment');
    const [event] = await shop.sql.rows(
      `SELECT by, actor FROM order_events WHERE order_id = $1 AND type = 'order.extended'`,
      [order.id],
    );
    expect(event).toEqual({ by: 'customer', actor: 'ann' });
    await shop.passDeadline([order.id]);
    await shop.untilOrder(order.id, 'closed');
  });

  it('extends what is open at the provider too, at once or when the buyer comes back', async () => {
    const { orderId, providerId } = await shop.placeWithPayment();
    const extend = (): Promise<OrderView> => {
      const body = { seconds: 60, reason: 'the bank is slow' };
      return shop.api('POST', `/v1/ops/orders/${orderId}/extension`, body, {}, 'ops');
    };
    const ends = async (): Promise<unknown[]> => {
      const payment = await shop.sandbox<{ payBy: string; expiresAt: string }>(
        'GET',
        `/v1/payments/${providerId}`,
      );
      const [row] = await shop.sql.rows<{ expires_at: Date }>(
        'SELECT expires_at FROM payments WHERE order_id = $1',
        [orderId],
      );
      return [payment.payBy, payment.expiresAt, row?.expires_at.toISOString()];
    };
    const first = await extend();
    expect(await ends()).toEqual([first.payBy, first.closesAt, first.closesAt]);
    // The provider is away: the order has its time all the same, and an operator hears of it.
    await shop.faults({ errorRate: 1, carriedOutRate: 0, operations: ['payment.extend'] });
    const second = await extend();
    expect(second.closesAt).not.toBe(first.closesAt);
    expect(await ends()).toEqual([first.payBy, first.closesAt, first.closesAt]);
    await shop.faults({ errorRate: 0, operations: null });
    const again = await shop.startPayment(orderId);
    expect(again.providerPaymentId).toBe(providerId);
    expect(await ends()).toEqual([second.payBy, second.closesAt, second.closesAt]);
  });
});

describe('late money where the policy is to revive', () => {
  let shop: StartedShop;

  beforeAll(async () => {
    shop = await startShop({ ...SETTINGS, LATE_PAYMENT: 'revive' });
  });
  afterAll(() => shop?.close());

  /** Closed by timeout; what happened to the payment at the provider comes to light later. */
  const closedByTimeout = async () => {
    const payment = await shop.placeWithPayment();
    await shop.passDeadline([payment.orderId]);
    await shop.untilOrder(payment.orderId, 'closed');
    return payment;
  };
  const paidAt = (offsetMs: number) => new Date(Date.now() + offsetMs).toISOString();

  it('reopens what was paid in time by the clock of the provider', async () => {
    const { orderId, providerId } = await closedByTimeout();
    await shop.buyerPays(providerId, { afterClose: true, paidAt: paidAt(-60_000) });
    await shop.untilOrder(orderId, 'paid');
    expect(await shop.refundsOf(orderId)).toEqual([]);
    await shop.untilSound();
  });

  it('refunds what was paid too late, however fast the notice', async () => {
    const { orderId, providerId } = await closedByTimeout();
    await shop.buyerPays(providerId, { afterClose: true });
    await shop.untilRefunded(orderId);
    expect(await shop.orderStatus(orderId)).toBe('closed');
    await shop.untilSound();
  });

  it('refunds what was paid in time when the stock is gone', async () => {
    const { orderId, providerId } = await closedByTimeout();
    const left = await stock(shop);
    // Somebody else buys all that is left.
    await shop.sql.rows(
      'UPDATE products SET available = 0, sold = sold + available WHERE sku = $1',
      [TEST_SKU],
    );
    await shop.buyerPays(providerId, { afterClose: true, paidAt: paidAt(-60_000) });
    await shop.untilRefunded(orderId);
    expect(await shop.orderStatus(orderId)).toBe('closed');
    await shop.sql.rows('UPDATE products SET available = $2, sold = sold - $2 WHERE sku = $1', [
      TEST_SKU,
      left.available,
    ]);
    await shop.untilSound();
  });
});

/** A paid order; each payment beyond the first is a duplicate, which is refunded. */
async function paidOrder(shop: Shop, payments = 1): Promise<{ orderId: string }> {
  const { orderId, providerId } = await shop.placeWithPayment();
  const others = [];
  for (let i = 1; i < payments; i++) others.push(await shop.startAnotherPayment(orderId));
  await shop.buyerPays(providerId);
  await shop.untilOrder(orderId, 'paid');
  for (const other of others) {
    await shop.buyerPays(other.providerPaymentId as string, { afterClose: true });
  }
  if (others.length > 0) await shop.untilRefunded(orderId);
  return { orderId };
}

function ship(shop: Shop, orderId: string): Promise<unknown> {
  const headers = { 'idempotency-key': randomUUID() };
  return shop.api('POST', `/v1/orders/${orderId}/shipment`, undefined, headers, 'merchant');
}

/** Lets the deadline of a status pass, as if its days had gone by. */
async function pass(shop: Shop, orderId: string, kind: 'shipment' | 'receipt'): Promise<void> {
  await shop.sql.rows(
    `UPDATE orders SET created_at = created_at - interval '60 days',
            paid_at = paid_at - interval '60 days', shipped_at = shipped_at - interval '60 days'
      WHERE id = $1`,
    [orderId],
  );
  await shop.sql.rows('UPDATE deadlines SET due_at = now() WHERE kind = $2 AND subject_id = $1', [
    orderId,
    kind,
  ]);
}

/** The counters, once the worker has folded what has moved. */
async function stock(shop: Shop): Promise<{ available: number; sold: number }> {
  await until('the stock is folded', async () => {
    const rows = await shop.sql.rows('SELECT 1 FROM unfolded_stock_movements LIMIT 1');
    return rows.length === 0;
  });
  const [row] = await shop.sql.rows<{ available: number; sold: number }>(
    'SELECT available, sold FROM products WHERE sku = $1',
    [TEST_SKU],
  );
  return row as { available: number; sold: number };
}
