import { insertOrders } from '../../../../test/support/insert-orders';
import { paidOrder } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { CancelOrder } from '../closing/cancel-order';
import { ExtendWindow } from '../closing/extend-window';
import { ForceCloseOrder } from '../closing/force-close-order';
import { ReadOrder } from '../closing/read-order';
import { OrderFeed } from '../events/order-feed';
import { ConfirmReceipt } from '../fulfilment/confirm-receipt';
import { ShipOrder } from '../fulfilment/ship-order';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { CreateRefund } from '../ops/create-refund';
import { readOrderDetails } from '../ops/read-order-details';
import { SettleOrder } from '../ops/settle-order';
import { StartPayment } from '../payments/start-payment';

/** What a host's own controllers pass on as an order's id. */

let world: World;
beforeAll(async () => {
  world = await openWorld({ settings: { CUSTOMER_EXTENSION: '1m' } });
});
afterAll(() => world?.close());

const OLGA = { actor: 'olga', reason: 'case 9' };
const MORE_TIME = { by: 'customer', actor: 'ann', byMs: 60_000 } as const;

const USES: Readonly<Record<string, (orderId: string) => Promise<unknown>>> = {
  read: (id) => world.get(ReadOrder).read(id, 'ann'),
  readOfAnyCustomer: (id) => world.get(ReadOrder).readOfAnyCustomer(id),
  details: (id) => readOrderDetails(world, () => Promise.resolve(undefined), id),
  follow: (id) => world.get(OrderFeed).follow(id, undefined, new AbortController().signal).next(),
  isOver: (id) => world.get(OrderFeed).isOver(id, '1'),
  pay: (orderId) => world.get(StartPayment).start({ orderId, customerId: 'ann' }),
  cancel: (id) => world.get(CancelOrder).cancel(id, 'ann'),
  extend: (id) => world.get(ExtendWindow).extend(id, MORE_TIME),
  confirm: (id) => world.get(ConfirmReceipt).confirm(id, 'ann'),
  ship: (id) => world.get(ShipOrder).ship(id, 'olga'),
  forceClose: (id) => world.get(ForceCloseOrder).forceClose(id, OLGA),
  cancelByOperator: (id) => world.get(CancelOrderByOperator).cancel(id, OLGA),
  settle: (id) => world.get(SettleOrder).settle(id, { as: 'paid', ...OLGA }),
  refund: (id) => world.get(CreateRefund).create(id, { amount: 1, ...OLGA }),
};

it.each(Object.keys(USES))('%s finds no order by an id that cannot be', async (use) => {
  for (const id of ['nope', '', undefined, null, 7, [], 'a\0']) {
    const using = (USES[use] as (id: unknown) => Promise<unknown>)(id);
    await expect(using).rejects.toMatchObject({ code: 'order_not_found' });
  }
});

it('finds an order by its id in capitals', async () => {
  const [one, other] = await insertOrders(world, { count: 2, closesInMs: 600_000 });
  const { id } = await paidOrder(world);
  const mine = (one?.id as string).toUpperCase();
  expect(await USES.extend?.(mine)).toMatchObject({ id: one?.id });
  expect(await USES.pay?.(mine)).toMatchObject({ replayed: false });
  expect(await USES.cancel?.((other?.id as string).toUpperCase())).toMatchObject({ id: other?.id });
  expect(await USES.refund?.(id.toUpperCase())).toMatchObject({ order: { id } });
  expect(await USES.ship?.(id.toUpperCase())).toMatchObject({ id, status: 'shipped' });
});
