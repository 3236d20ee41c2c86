import { insertOrders } from '../../../../test/support/insert-orders';
import type { LedgerEntry } from '../../../../test/support/ledger-provider';
import { openWorld, type World } from '../../../../test/support/world';
import { readOrder } from '../order/order-rows';
import { StartPayment } from './start-payment';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(() => {
  jest.restoreAllMocks();
  world.provider.unreachable = undefined;
});

const start = (orderId: string, idempotencyKey?: string) =>
  world.get(StartPayment).start({ orderId, customerId: 'ann', idempotencyKey });

/** An order with time left, whose buyer was sent to a page some time ago; its payment may have an end before the order's. */
async function withPage({ minutesAgo = 45, isPastItsEnd = false } = {}) {
  const [order] = await insertOrders(world, { count: 1, closesInMs: 4 * 3_600_000 });
  const orderId = order?.id as string;
  const { payment } = await start(orderId, 'first');
  await world.rows(
    `UPDATE payments SET created_at = created_at - $2 * interval '1 minute',
            expires_at = CASE WHEN $3 THEN now() ELSE expires_at END WHERE id = $1`,
    [payment.id, minutesAgo, isPastItsEnd],
  );
  return {
    orderId,
    payment,
    entry: world.provider.entries.get(`pay-${payment.id}`) as LedgerEntry,
  };
}
const statusOf = async (id: string) =>
  (await world.rows('SELECT status FROM payments WHERE id = $1', [id]))[0];

describe('a buyer who goes on to pay', () => {
  it.each([
    ['some time ago', {}],
    ['just now, to end before the order', { minutesAgo: 0, isPastItsEnd: true }],
  ])('gets another page where the one of %s has ended, and nobody has told', async (_, when) => {
    const { orderId, payment, entry } = await withPage(when);
    entry.status = 'closed';
    const { payment: next } = await start(orderId);
    expect(next.id).not.toBe(payment.id);
    expect(next.checkoutUrl).toBe(`https://pay.test/pay-${next.id}`);
    expect(await statusOf(payment.id)).toEqual({ status: 'closed' });
    expect((await start(orderId)).payment.id).toBe(next.id);
    // What its key has started is that payment, whatever has become of it.
    expect(await start(orderId, 'first')).toMatchObject({
      ...{ replayed: true, payment: { id: payment.id, status: 'closed' } },
    });
  });

  it('is told by the same key that its page has ended', async () => {
    const { orderId, payment, entry } = await withPage();
    entry.status = 'closed';
    expect(await start(orderId, 'first')).toMatchObject({
      ...{ replayed: true, payment: { id: payment.id, status: 'closed' } },
    });
  });

  it('gets another page where the provider knows the one past its end no more', async () => {
    const { orderId, payment } = await withPage({ isPastItsEnd: true });
    world.provider.entries.delete(`pay-${payment.id}`);
    expect((await start(orderId)).payment.id).not.toBe(payment.id);
    expect(await statusOf(payment.id)).toEqual({ status: 'closed' });
  });

  it('has paid where nobody has told of that', async () => {
    const { orderId, payment } = await withPage();
    world.provider.pay(payment.id, new Date());
    await expect(start(orderId)).rejects.toMatchObject({ code: 'order_not_payable' });
    expect(await readOrder(world, orderId)).toMatchObject({ status: 'paid' });
  });

  it('stays with the page that is open, or of which the provider says nothing', async () => {
    const { orderId, payment } = await withPage({ isPastItsEnd: true });
    expect((await start(orderId)).payment).toMatchObject({ id: payment.id, status: 'open' });
    world.provider.unreachable = 'before';
    expect((await start(orderId)).payment).toMatchObject({ id: payment.id, status: 'open' });
  });

  it('asks nobody about a page that was opened a moment ago', async () => {
    const { orderId, payment } = await withPage({ minutesAgo: 1 });
    const asked = jest.spyOn(world.provider, 'findPayment');
    expect((await start(orderId)).payment.id).toBe(payment.id);
    expect(asked).not.toHaveBeenCalled();
  });
});
