import { anotherPayment } from '../../../../test/support/another-payment';
import { idAtProvider, type Posted } from '../../../../test/support/ledger-provider';
import { openOrder, type Payable, receive } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { readOrderDetails } from '../ops/read-order-details';
import { ForceCloseOrder } from './force-close-order';
import { SettleClosing } from './settle-closing';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(() => jest.restoreAllMocks());

const noAlarm = (): Promise<undefined> => Promise.resolve(undefined);
const unansweredOf = async ({ id }: Payable) =>
  (await readOrderDetails(world, noAlarm, id)).unanswered;

/** What the provider says of any payment from now on. */
const says = (answer: Awaited<ReturnType<World['provider']['findPayment']>>) =>
  jest.spyOn(world.provider, 'findPayment').mockResolvedValue(answer);

describe('an order that waits for its provider', () => {
  it('tells operators why there is no answer, until there is one', async () => {
    const order = await openOrder(world);
    expect(await unansweredOf(order)).toEqual([]);
    const silent = says({ state: 'UNKNOWN', why: 'status 401' });
    await world.get(ForceCloseOrder).forceClose(order.id, { actor: 'olga', reason: 'case 9' });
    expect(await world.get(SettleClosing).settle(order.id)).toBe('nothing');
    const waiting = { paymentId: order.paymentId, provider: 'sandbox' };
    expect(await unansweredOf(order)).toEqual([{ ...waiting, error: 'status 401' }]);
    // An answer, if not for good.
    silent.mockResolvedValue({ state: 'IN_FLIGHT', providerPaymentId: `pay-${order.paymentId}` });
    expect(await world.get(SettleClosing).settle(order.id)).toBe('succeeded');
    expect(await unansweredOf(order)).toEqual([]);
  });

  it('tells it no more once it is over', async () => {
    const order = await openOrder(world);
    const silent = says({ state: 'UNKNOWN', why: 'timeout after 3000 ms' });
    await world.get(ForceCloseOrder).forceClose(order.id, { actor: 'olga', reason: 'case 9' });
    await world.get(SettleClosing).settle(order.id);
    expect(await unansweredOf(order)).toMatchObject([{ error: 'timeout after 3000 ms' }]);
    silent.mockRestore();
    await world.get(SettleClosing).settle(order.id);
    expect(await unansweredOf(order)).toEqual([]);
    const kept = await world.rows('SELECT error FROM payments WHERE order_id = $1', [order.id]);
    expect(kept).toEqual([{ error: null }]);
  });

  it('is closed by whoever has closed it, with their reason', async () => {
    const order = await openOrder(world);
    await world.get(ForceCloseOrder).forceClose(order.id, { actor: 'olga', reason: 'case 9' });
    await world.get(SettleClosing).settle(order.id);
    const closed = await world.rows(
      `SELECT by, actor, reason FROM order_events WHERE order_id = $1 AND type = 'order.closed'`,
      [order.id],
    );
    expect(closed).toEqual([{ by: 'operator', actor: 'olga', reason: 'case 9' }]);
  });
});

describe('an answer that operators are told of', () => {
  it('is told with the payment, and nothing that was sent to the provider', async () => {
    const order = await openOrder(world);
    const canary = 'the lines and return addresses of ann';
    await world.rows('UPDATE payments SET request = $2 WHERE id = $1', [
      order.paymentId,
      JSON.stringify({ cancelUrl: canary }),
    ]);
    const money = { amount: order.amount, currency: 'EUR', paidAt: new Date() };
    says({ state: 'REFUNDED', providerPaymentId: `pay-${order.paymentId}`, money });
    await world.get(ForceCloseOrder).forceClose(order.id, { actor: 'olga', reason: 'case 9' });
    await world.get(SettleClosing).settle(order.id);
    const alerts = world.told.filter(({ args }) => args[0] === 'refunded_outside');
    const { id: orderId, paymentId } = order;
    const payment = { paymentId, providerPaymentId: `pay-${paymentId}` };
    expect(alerts.map(({ args }) => args[1])).toEqual([
      { orderId, provider: 'sandbox', ...payment },
    ]);
    expect(JSON.stringify(world.told)).not.toContain(canary);
  });

  it('is none where we have sent the money back ourselves while the provider was asked', async () => {
    const order = await openOrder(world);
    const { id: orderId, amount } = order;
    const second = await anotherPayment(world, orderId, { status: 'open' });
    world.provider.open({ paymentId: second, amount, currency: 'EUR' });
    let answer = (): void => undefined;
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    const isAsked = new Promise<void>((resolve) => {
      world.provider.around = (call) => {
        if (call !== 'find') return Promise.resolve();
        resolve();
        return isAnswered;
      };
    });
    const olga = { actor: 'olga', reason: 'case 9' };
    const closing = world.get(ForceCloseOrder).forceClose(orderId, olga);
    await isAsked;
    for (const paymentId of [order.paymentId, second]) {
      await receive(world, world.provider.pay(paymentId, new Date()) as Posted);
    }
    const [refund] = await world.rows<{ id: string; payment_id: string }>(
      'SELECT r.id, payment_id FROM refunds r JOIN payments p ON p.id = payment_id WHERE order_id = $1',
      [orderId],
    );
    expect(refund?.payment_id).toBe(second);
    const providerPaymentId = idAtProvider(second);
    const sent = { amount, currency: 'EUR', idempotencyKey: refund?.id ?? '' };
    await world.provider.refund({ ...sent, paymentId: second, providerPaymentId });
    answer();
    await expect(closing).rejects.toMatchObject({ code: 'order_not_closable' });
    const alerts = world.told.filter(
      ({ name, args: [, fields] }) =>
        name === 'alert' && (fields as { orderId?: string }).orderId === orderId,
    );
    expect(alerts).toEqual([]);
  });
});
