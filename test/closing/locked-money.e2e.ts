import { ReceiveWebhook } from '@app/orders';
import { Client } from 'pg';
import { insertOrders, type InsertedOrder, insertProduct } from '../support/insert-orders';
import { brokenInvariants, moneyOf } from '../support/money';
import { post, type Posted } from '../support/ledger-provider';
import { startStopwatch } from '../support/stopwatch';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';

/*
 * Somebody holds the row of one payment or of one refund, as a support tool or a merchant's UPDATE does: the
 * webhooks about it are stored and applied later, and those of everybody else do not notice.
 */

const STRANGERS_WITHIN_MS = 1_500;
const HELD = 77;

let world: World;
let support: Client;
const money = moneyOf(() => world);
beforeAll(async () => {
  world = await openWorld();
  await insertProduct(world);
  support = new Client({ connectionString: world.config.DATABASE_URL });
  await support.connect();
}, 60_000);
afterAll(async () => {
  await support?.end();
  await world?.close();
});
afterEach(async () => {
  await support.query('ROLLBACK');
  expect(await brokenInvariants(world)).toEqual([]);
});

async function holds(sql: string, params: readonly unknown[]): Promise<void> {
  await support.query('BEGIN');
  await support.query(sql, [...params]);
}

async function orders(count: number): Promise<(InsertedOrder & { readonly paymentId: string })[]> {
  const inserted = await insertOrders(world, { count, closesInMs: 60_000, payment: 'open' });
  return inserted.map((order) => {
    const { paymentId, amount } = order as InsertedOrder & { readonly paymentId: string };
    world.provider.open({ paymentId, amount, currency: 'EUR' });
    return { ...order, paymentId };
  });
}

const paidNotice = (paymentId: string): Posted =>
  world.provider.pay(paymentId, new Date()) as Posted;

const failedNotice = (paymentId: string): Posted =>
  post({
    ...{ eventId: `evt-${paymentId}`, type: 'payment.failed', paymentId },
    ...{ providerPaymentId: `pay-${paymentId}` },
  });

/** Sends all at once; how long the slowest took, in milliseconds. */
async function sendAll(notices: readonly Posted[]): Promise<number> {
  const tookMs = startStopwatch();
  await Promise.all(
    notices.map(({ body, headers }) => world.get(ReceiveWebhook).receive('sandbox', body, headers)),
  );
  return tookMs();
}

/** Whose payment has another status, by their places. */
async function without(status: string, paymentIds: readonly string[]): Promise<number[]> {
  const rows = await world.rows<{ nth: number }>(
    `SELECT n::int - 1 AS nth FROM unnest($1::uuid[]) WITH ORDINALITY AS p (id, n)
       JOIN payments USING (id) WHERE status <> $2 ORDER BY n`,
    [paymentIds, status],
  );
  return rows.map(({ nth }) => nth);
}

const untilApplied = (isApplied: () => Promise<boolean>): Promise<unknown> =>
  until('what was held is applied as well', async () => {
    await world.timeouts.runSweep();
    return isApplied();
  });

describe('while somebody holds the row of a payment', () => {
  it.each([
    ['are paid', paidNotice, 'succeeded'],
    ['are ended, as they failed', failedNotice, 'failed'],
  ])('199 others %s, and this one once it is free', async (_what, noticeOf, status) => {
    const paymentIds = (await orders(200)).map(({ paymentId }) => paymentId);
    await holds('UPDATE payments SET amount = amount WHERE id = $1', [paymentIds[HELD]]);
    expect(await sendAll(paymentIds.map(noticeOf))).toBeLessThan(STRANGERS_WITHIN_MS);
    expect(await without(status, paymentIds)).toEqual([HELD]);
    await support.query('ROLLBACK');
    await untilApplied(async () => (await without(status, paymentIds)).length === 0);
  });
});

describe('while somebody holds the row of a refund', () => {
  /** A refund that nobody has asked the provider for yet, of an order paid too late. */
  async function owed(): Promise<{ id: string; paymentId: string; amount: number }> {
    const [order] = await insertOrders(world, { count: 1, closesInMs: -10, payment: 'failed' });
    const { paymentId, amount } = order as InsertedOrder & { readonly paymentId: string };
    world.provider.open({ paymentId, amount, currency: 'EUR' });
    await world.timeouts.drainAll('timer');
    await money.receive(world.provider.pay(paymentId, new Date(), { late: true }) as Posted);
    const [refund] = await world.rows<{ id: string }>(
      'SELECT id FROM refunds WHERE payment_id = $1',
      [paymentId],
    );
    return { id: (refund as { id: string }).id, paymentId, amount };
  }

  const statusOf = async (id: string) =>
    (await world.rows<{ status: string }>('SELECT status FROM refunds WHERE id = $1', [id]))[0]
      ?.status;

  it.each([
    ['by our key', true],
    ['by hand, without a key', false],
  ])('what the provider says of it, made %s, waits alone', async (_how, isKeyed) => {
    const { id, paymentId, amount } = await owed();
    const others = (await orders(20)).map((order) => order.paymentId);
    await holds('UPDATE refunds SET updated_at = updated_at WHERE id = $1', [id]);
    const made = post({
      ...{ eventId: `evt-${id}`, type: 'refund.succeeded', paymentId, amount },
      ...{ providerPaymentId: `pay-${paymentId}`, providerRefundId: `re-${id}`, why: null },
      idempotencyKey: isKeyed ? id : null,
    });
    const tookMs = await sendAll([made, ...others.map(paidNotice)]);
    expect(tookMs).toBeLessThan(STRANGERS_WITHIN_MS);
    expect(await without('succeeded', others)).toEqual([]);
    expect(await statusOf(id)).toBe('requested');
    await support.query('ROLLBACK');
    await untilApplied(async () => (await statusOf(id)) === 'succeeded');
  });
});
