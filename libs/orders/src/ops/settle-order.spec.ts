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
import { SettleOrder, type SettleOrderCommand } from './settle-order';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
beforeAll(async () => {
  world = await openWorld({ providers: [new LedgerProvider(), new LedgerProvider('pear')] });
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
const settle = (id: string, command: Pick<SettleOrderCommand, 'as' | 'paymentId'>) =>
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
