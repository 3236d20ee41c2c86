import { anotherPayment } from '../../../../test/support/another-payment';
import { LedgerProvider, type Posted } from '../../../../test/support/ledger-provider';
import {
  brokenInvariants,
  closeUnanswered,
  openOrder,
  type Payable,
  receive,
} from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { readOrders } from '../order/order-rows';
import { ReceiveWebhook } from '../payments/receive-webhook';
import { SettleOrder, type SettleOrderCommand } from './settle-order';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
const pear = new LedgerProvider('pear');
beforeAll(async () => {
  world = await openWorld({ providers: [new LedgerProvider(), pear] });
});
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

/** An order whose provider gives no answer, with one more payment open at another one. */
async function stuckWithTwo(): Promise<Payable & { readonly newest: string }> {
  const order = await openOrder(world);
  await closeUnanswered(world, order.id, OLGA);
  const newest = await anotherPayment(world, order.id, { provider: 'pear', status: 'open' });
  return { ...order, newest };
}
const settle = (id: string, command: Pick<SettleOrderCommand, 'as' | 'paymentId' | 'dryRun'>) =>
  world.get(SettleOrder).settle(id, { ...OLGA, ...command });
const paymentsOf = async (id: string) => {
  const rows = await world.rows<{ id: string; status: string }>(
    'SELECT id, status FROM payments WHERE order_id = $1',
    [id],
  );
  return Object.fromEntries(rows.map((row) => [row.id, row.status]));
};

describe('an order that waits for two payments', () => {
  it('is settled as paid by neither, unless it is said which', async () => {
    const { id, paymentId, newest } = await stuckWithTwo();
    await expect(settle(id, { as: 'paid' })).rejects.toMatchObject({
      code: 'order_not_settleable',
      message:
        `Order ${id} has 2 payments that are open: ${paymentId} (sandbox, pay-${paymentId}), ` +
        `${newest} (pear, pay-${newest}); say which of them was paid, by --payment or paymentId`,
      fields: { orderId: id, status: 'closing', payments: [paymentId, newest] },
    });
    expect(await paymentsOf(id)).toEqual({ [paymentId]: 'open', [newest]: 'open' });
  });

  it('is paid by the one that is named, whose notice is known when it comes', async () => {
    const { id, paymentId, newest } = await stuckWithTwo();
    await settle(id, { as: 'paid', paymentId });
    expect(await paymentsOf(id)).toEqual({ [paymentId]: 'succeeded', [newest]: 'closed' });
    await receive(world, world.provider.pay(paymentId, new Date()) as Posted);
    const [order] = (await readOrders(world, [id])).values();
    expect(order).toMatchObject({ status: 'paid', balance: { captured: 1_000, refunded: 0 } });
    expect(await world.rows('SELECT FROM refunds WHERE payment_id = $1', [paymentId])).toEqual([]);
  });

  it('is not paid by one that is none of them', async () => {
    const { id } = await stuckWithTwo();
    const other = await openOrder(world);
    await expect(settle(id, { as: 'paid', paymentId: other.paymentId })).rejects.toMatchObject({
      code: 'order_not_settleable',
      message: `Payment ${other.paymentId} is none of the open ones of order ${id}`,
    });
  });

  it('is closed with both, and not with one of them', async () => {
    const { id, paymentId, newest } = await stuckWithTwo();
    await expect(settle(id, { as: 'closed', paymentId })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await settle(id, { as: 'closed' });
    expect(await paymentsOf(id)).toEqual({ [paymentId]: 'closed', [newest]: 'closed' });
  });
});

describe('an order that is paid, with another payment open at a provider that never answers', () => {
  beforeAll(() => (pear.unreachable = 'before'));
  afterAll(() => (pear.unreachable = undefined));

  async function paidWithOther(): Promise<Payable & { readonly other: string }> {
    const order = await openOrder(world);
    const other = await anotherPayment(world, order.id, { provider: 'pear', status: 'open' });
    pear.open({ paymentId: other, amount: 1_000, currency: 'EUR' });
    await receive(world, world.provider.pay(order.paymentId, new Date()) as Posted);
    await world.timeouts.runSweep();
    expect(await paymentsOf(order.id)).toEqual({ [order.paymentId]: 'succeeded', [other]: 'open' });
    return { ...order, other };
  }
  const asksOf = ({ id }: Payable) =>
    world.rows(`SELECT FROM deadlines WHERE kind = 'closing' AND subject_id = $1`, [id]);

  it('stays as it is when it is settled as closed, and nobody is asked any more', async () => {
    const order = await paidWithOther();
    const { id, paymentId, other } = order;
    const rehearsed = await settle(id, { as: 'closed', dryRun: true });
    expect(rehearsed).toMatchObject({ becomes: { status: 'paid' } });
    expect(await paymentsOf(id)).toMatchObject({ [other]: 'open' });
    expect(await settle(id, { as: 'closed' })).toMatchObject({ order: { status: 'paid' } });
    expect(await paymentsOf(id)).toEqual({ [paymentId]: 'succeeded', [other]: 'closed' });
    expect(
      await world.rows('SELECT actor, action, reason FROM operator_actions WHERE subject_id = $1', [
        other,
      ]),
    ).toEqual([{ ...OLGA, action: 'payment.end' }]);
    await world.rows(`UPDATE deadlines SET due_at = now() WHERE kind = 'closing'`);
    await world.timeouts.runSweep();
    expect(await asksOf(order)).toEqual([]);
  });

  it('sends back what that one takes all the same', async () => {
    const { id, other } = await paidWithOther();
    await settle(id, { as: 'closed' });
    const { body, headers } = pear.pay(other, new Date()) as Posted;
    await world.get(ReceiveWebhook).receive('pear', body, headers);
    const refunds = await world.rows('SELECT reason, amount FROM refunds WHERE payment_id = $1', [
      other,
    ]);
    expect(refunds).toEqual([{ reason: 'duplicate_payment', amount: '1000' }]);
    const [order] = (await readOrders(world, [id])).values();
    expect(order).toMatchObject({ status: 'paid' });
  });

  it('is not settled as paid, nor where none is open', async () => {
    const { id, other } = await paidWithOther();
    const refused = { code: 'order_not_settleable', fields: { orderId: id, status: 'paid' } };
    await expect(settle(id, { as: 'paid' })).rejects.toMatchObject(refused);
    await expect(settle(id, { as: 'paid', paymentId: other })).rejects.toMatchObject(refused);
    await settle(id, { as: 'closed' });
    await expect(settle(id, { as: 'closed' })).rejects.toMatchObject(refused);
  });
});
