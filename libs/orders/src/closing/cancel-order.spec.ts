import { brokenInvariants, openOrder, type Payable } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { readOrders } from '../order/order-rows';
import { CancelOrder } from './cancel-order';
import { ForceCloseOrder } from './force-close-order';
import { SettleClosing } from './settle-closing';

const OLGA = { actor: 'olga', reason: 'case 9' };

let strict: World;
let lenient: World;
beforeAll(async () => {
  strict = await openWorld();
  lenient = await openWorld({ beside: strict, settings: { CANCEL_PAID: 'until_shipped' } });
});
afterAll(async () => {
  await lenient?.close();
  await strict?.close();
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const { provider } of [strict, lenient]) provider.unreachable = undefined;
  expect(await brokenInvariants(strict)).toEqual([]);
});

/** Its buyer has paid, and the provider's notice of that is still on its way. */
async function paidUnheard(world: World): Promise<Payable> {
  const order = await openOrder(world);
  world.provider.pay(order.paymentId, new Date());
  return order;
}

const read = async (id: string) => (await readOrders(strict, [id])).get(id);
const cancel = (world: World, { id }: Payable) => world.get(CancelOrder).cancel(id, 'ann');
const forceClose = (world: World, { id }: Payable) =>
  world.get(ForceCloseOrder).forceClose(id, OLGA);

/** Does this while the order is still waited for, once its provider has answered. */
function meanwhile(world: World, act: () => Promise<unknown>): void {
  const settling = world.get(SettleClosing);
  jest.spyOn(settling, 'settleSoon').mockImplementation(async (orderId) => {
    await settling.settle(orderId);
    await act();
  });
}

describe('canceling an order that was paid, as its provider says when it is asked', () => {
  it('cancels it where a paid one may be canceled, and its money goes back', async () => {
    const order = await paidUnheard(lenient);
    expect(await cancel(lenient, order)).toMatchObject({
      ...{ status: 'canceled', closeReason: 'customer_canceled' },
      payments: [{ refund: { reason: 'customer_canceled', amount: order.amount } }],
    });
    const history = await strict.rows(
      'SELECT to_status, by FROM order_events WHERE order_id = $1 AND version > 1 ORDER BY version',
      [order.id],
    );
    expect(history).toEqual([
      { to_status: 'closing', by: 'customer' },
      { to_status: 'paid', by: 'provider' },
      { to_status: 'canceled', by: 'customer' },
    ]);
  });

  it('is refused where a paid one stays paid', async () => {
    const order = await paidUnheard(strict);
    await expect(cancel(strict, order)).rejects.toMatchObject({
      ...{ code: 'order_not_cancelable', fields: { status: 'paid' } },
    });
    expect(await read(order.id)).toMatchObject({ status: 'paid' });
  });

  it('is refused once it is shipped: its merchant was faster', async () => {
    const order = await paidUnheard(lenient);
    meanwhile(lenient, () => lenient.get(ShipOrder).ship(order.id, 'mia'));
    await expect(cancel(lenient, order)).rejects.toMatchObject({
      ...{ code: 'order_not_cancelable', fields: { status: 'shipped' } },
    });
  });

  it('is done where somebody else has canceled it', async () => {
    const order = await paidUnheard(lenient);
    const canceling = lenient.get(CancelOrderByOperator);
    meanwhile(lenient, () => canceling.cancel(order.id, OLGA));
    expect(await cancel(lenient, order)).toMatchObject({
      ...{ status: 'canceled', closeReason: 'operator_canceled' },
    });
  });

  it('never says yes to its customer and to its merchant, who ships it at once', async () => {
    const order = await paidUnheard(lenient);
    let shipping: Promise<unknown> | undefined;
    meanwhile(lenient, async () => {
      shipping = lenient.get(ShipOrder).ship(order.id, 'mia');
    });
    const [canceled] = await Promise.allSettled([cancel(lenient, order)]);
    const [shipped] = await Promise.allSettled([shipping]);
    expect([canceled.status, shipped.status].sort()).toEqual(['fulfilled', 'rejected']);
    const { status } = (await read(order.id)) ?? {};
    expect(status).toBe(canceled.status === 'fulfilled' ? 'canceled' : 'shipped');
  });

  it('answers with the fence while the provider has not answered', async () => {
    const order = await paidUnheard(lenient);
    lenient.provider.unreachable = 'before';
    expect(await cancel(lenient, order)).toMatchObject({ status: 'closing' });
  });
});

describe('closing such an order by force', () => {
  it('is refused, whatever its customer may', async () => {
    for (const world of [strict, lenient]) {
      const order = await paidUnheard(world);
      await expect(forceClose(world, order)).rejects.toMatchObject({
        ...{ code: 'order_not_closable', fields: { orderId: order.id, status: 'paid' } },
      });
      expect(await read(order.id)).toMatchObject({ status: 'paid' });
    }
  });

  it('answers with the fence while the provider has not answered', async () => {
    const order = await paidUnheard(strict);
    strict.provider.unreachable = 'before';
    expect(await forceClose(strict, order)).toMatchObject({ status: 'closing' });
  });
});
