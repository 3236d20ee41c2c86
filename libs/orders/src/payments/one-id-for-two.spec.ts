import { randomUUID } from 'node:crypto';
import { insertOrders } from '../../../../test/support/insert-orders';
import { post } from '../../../../test/support/ledger-provider';
import { openWorld, type World } from '../../../../test/support/world';
import { SettleClosing } from '../closing/settle-closing';
import { ForceCloseOrder } from '../closing/force-close-order';
import { ReceiveWebhook } from './receive-webhook';
import { StartPayment } from './start-payment';

const ANN = { actor: 'ann', reason: 'gave up' };
const MONEY = { amount: 500, currency: 'EUR' };

/** A bug of an adapter: it gives the id of one payment to another one. */
describe('a provider payment that is two of ours', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());
  beforeEach(() => world.provider.entries.clear());
  afterEach(() => jest.restoreAllMocks());

  const status = async (orderId: string) =>
    (await world.rows<{ status: string }>('SELECT status FROM orders WHERE id = $1', [orderId]))[0]
      ?.status;
  const paymentOf = async (orderId: string) => {
    const [row] = await world.rows<{ id: string; status: string; theirs: string | null }>(
      `SELECT id, status, provider_payment_id AS theirs FROM payments WHERE order_id = $1`,
      [orderId],
    );
    return row as NonNullable<typeof row>;
  };
  const start = (orderId: string) => world.get(StartPayment).start({ orderId, customerId: 'ann' });
  const failures = (what: string): string[] =>
    world.told.flatMap(({ name, args: [about, error] }) =>
      name === 'failed' && about === what ? [String(error)] : [],
    );
  const named = (theirs: string, ...ours: string[]) =>
    expect.stringMatching(
      new RegExp(`gives the id "${theirs}" to two payments, ${ours.join(' and ')}`),
    );

  /** Two orders with a payment each: the first as it should be, and the second by the first one's id. */
  async function openTwo() {
    const orders = await insertOrders(world, { count: 2, closesInMs: 3_600_000 });
    const [first, second] = orders.map(({ id }) => id) as [string, string];
    const { payment } = await start(first);
    const theirs = payment.providerPaymentId as string;
    const answer = { state: 'CREATED', providerPaymentId: theirs, checkoutUrl: 'https://p.test/' };
    jest.spyOn(world.provider, 'createPayment').mockResolvedValue(answer as never);
    return { first, second, paymentId: payment.id, theirs };
  }
  const captured = (paymentId: string, providerPaymentId: string) => {
    const money = { ...MONEY, paidAt: new Date() };
    const ids = { eventId: randomUUID(), paymentId, providerPaymentId };
    const { body, headers } = post({ ...ids, type: 'payment.succeeded', money });
    return { send: () => world.get(ReceiveWebhook).receive('sandbox', body, headers), ...ids };
  };
  const inbox = async (eventId: string) => {
    const found = await world.rows<{ status: string; result: string | null }>(
      'SELECT status, result FROM webhook_events WHERE event_id = $1',
      [eventId],
    );
    return found[0];
  };

  it('is opened for the first alone, and the second is refused as a fault of the provider', async () => {
    const { first, second, paymentId, theirs } = await openTwo();
    const refused = start(second);
    await expect(refused).rejects.toMatchObject({
      code: 'provider_error',
      fields: { provider: 'sandbox' },
    });
    const mine = await paymentOf(second);
    expect(mine).toMatchObject({ status: 'open', theirs: null });
    expect(failures('open payment')).toEqual([named(theirs, mine.id, paymentId)]);
    expect(await paymentOf(first)).toMatchObject({ status: 'open', theirs });
    jest.restoreAllMocks();
    expect((await start(second)).payment).toMatchObject({ id: mine.id, status: 'open' });
  });

  it('pays the first alone, and what is told of the second is held', async () => {
    const { first, second, paymentId, theirs } = await openTwo();
    await expect(start(second)).rejects.toMatchObject({ code: 'provider_error' });
    const mine = await paymentOf(second);
    const [wrong, right] = [captured(mine.id, theirs), captured(paymentId, theirs)];
    await Promise.all([wrong.send(), right.send()]);
    expect([await status(first), await status(second)]).toEqual(['paid', 'pending_payment']);
    expect(await inbox(right.eventId)).toEqual({ status: 'processed', result: 'paid' });
    expect(await inbox(wrong.eventId)).toEqual({ status: 'held', result: 'id_of_another_payment' });
    expect(failures('record money')).toEqual([named(theirs, mine.id, paymentId)]);
    expect(failures('apply webhook')).toEqual([]);
    expect(await paymentOf(second)).toEqual(mine);
  });

  it('pays one of two that nobody knew it of, and what is told of the other is held', async () => {
    const orders = await insertOrders(world, { count: 2, closesInMs: 3_600_000, payment: 'open' });
    const theirs = `pay-${randomUUID()}`;
    await world.rows('UPDATE payments SET provider_payment_id = NULL WHERE id = ANY ($1)', [
      orders.map(({ paymentId }) => paymentId),
    ]);
    const told = orders.map((one) => captured(one.paymentId as string, theirs));
    await Promise.all(told.map(({ send }) => send()));
    const both = await Promise.all(orders.map(({ id }) => status(id)));
    expect(both.sort()).toEqual(['paid', 'pending_payment']);
    const results = await Promise.all(told.map(({ eventId }) => inbox(eventId)));
    expect(results.map((one) => one?.result).sort()).toEqual(['id_of_another_payment', 'paid']);
  });

  it('is not told of as money of another order, whose own payment has an id', async () => {
    const { first, second, theirs } = await openTwo();
    jest.restoreAllMocks();
    const { payment } = await start(second);
    const wrong = captured(payment.id, theirs);
    await wrong.send();
    expect(await inbox(wrong.eventId)).toEqual({ status: 'held', result: 'id_of_another_payment' });
    expect([await status(first), await status(second)]).toEqual([
      ...['pending_payment', 'pending_payment'],
    ]);
  });

  it('closes no order that the provider calls paid by it, and records the others', async () => {
    const { second, paymentId, theirs } = await openTwo();
    await expect(start(second)).rejects.toMatchObject({ code: 'provider_error' });
    const mine = await paymentOf(second);
    const answer = {
      state: 'PAID',
      providerPaymentId: theirs,
      money: { ...MONEY, paidAt: new Date() },
    };
    jest.spyOn(world.provider, 'findPayment').mockResolvedValue(answer as never);
    const before = failures('record money').length;
    await world.get(ForceCloseOrder).forceClose(second, ANN);
    await world.get(SettleClosing).settle(second);
    expect(await status(second)).toBe('closing');
    expect(await paymentOf(second)).toEqual(mine);
    expect(failures('settle closing')).toEqual([]);
    const told = failures('record money').slice(before);
    expect(new Set(told)).toEqual(new Set([told[0]]));
    expect(told[0]).toEqual(named(theirs, mine.id, paymentId));
  });
});
