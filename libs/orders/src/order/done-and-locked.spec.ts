import { Client } from 'pg';
import { untilLocksAreWaitedFor } from '../../../../test/support/lock-waits';
import { closeUnanswered, openOrder, paidOrder } from '../../../../test/support/paid-order';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { CancelOrder } from '../closing/cancel-order';
import { ExtendWindow } from '../closing/extend-window';
import { ForceCloseOrder } from '../closing/force-close-order';
import { ConfirmReceipt } from '../fulfilment/confirm-receipt';
import { ShipOrder } from '../fulfilment/ship-order';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { CreateRefund } from '../ops/create-refund';
import { SettleOrder } from '../ops/settle-order';
import type { OrderView } from './order';
import { OrderGuard } from './order-guard';

/*
 * Somebody gets a lock on all orders just as the change of one is committed: who has made it hears what was
 * done. Told to try it again, they would do it twice, or be refused.
 */

const OLGA = { actor: 'olga', reason: 'case 9' };
const ANN = 'ann';

let world: World;
let dba: Client;
beforeAll(async () => {
  world = await openWorld();
  dba = new Client({ connectionString: world.ownerUrl });
  await dba.connect();
}, 60_000);
afterAll(async () => {
  await dba?.end();
  await world?.close();
});
afterEach(() => dba.query('ROLLBACK'));

/** The next change of an order commits with somebody waiting, who has the table from then on. */
async function lockAtCommit(): Promise<void> {
  const look = new Client({ connectionString: world.ownerUrl });
  await look.connect();
  await dba.query('BEGIN');
  const guard = world.get(OrderGuard);
  const withOrder: OrderGuard['withOrder'] = guard.withOrder.bind(guard);
  jest.spyOn(guard, 'withOrder').mockImplementationOnce((id, work, options) =>
    withOrder(
      id,
      async (order, tx) => {
        const done = await work(order, tx);
        void dba.query('LOCK TABLE lastcall.orders IN ACCESS EXCLUSIVE MODE');
        await untilLocksAreWaitedFor(look, 1).finally(() => look.end());
        return done;
      },
      options,
    ),
  );
}

const unpaid = async () => {
  const [order] = await insertOrders(world, { count: 1, closesInMs: 600_000 });
  return order as { id: string };
};
const shipped = async () => {
  const order = await paidOrder(world);
  await world.get(ShipOrder).ship(order.id, 'mel');
  return order;
};
const closing = async () => {
  const order = await openOrder(world);
  await closeUnanswered(world, order.id, OLGA);
  world.provider.unreachable = undefined;
  return order;
};
const customerCancels = (id: string) => world.get(CancelOrder).cancel(id, ANN);
const refund = { ...OLGA, amount: 300 };
const extension = { ...OLGA, by: 'operator', byMs: 60_000 } as const;

it.each<[string, () => Promise<{ id: string }>, (id: string) => Promise<OrderView>, object]>([
  [
    'a merchant who ships',
    () => paidOrder(world),
    (id) => world.get(ShipOrder).ship(id, 'mel', { carrier: 'DHL' }),
    { status: 'shipped', shipment: { carrier: 'DHL' } },
  ],
  [
    'a customer who has received it',
    shipped,
    (id) => world.get(ConfirmReceipt).confirm(id, ANN),
    { status: 'completed' },
  ],
  ['a customer who cancels', unpaid, customerCancels, { status: 'closed' }],
  [
    'a customer who cancels while a payment is open',
    () => openOrder(world),
    customerCancels,
    { status: 'closing' },
  ],
  [
    'an operator who closes it by force',
    unpaid,
    (id) => world.get(ForceCloseOrder).forceClose(id, OLGA),
    { status: 'closed' },
  ],
  [
    'an operator who settles it',
    closing,
    async (id) => (await world.get(SettleOrder).settle(id, { ...OLGA, as: 'closed' })).order,
    { status: 'closed' },
  ],
  [
    'an operator who cancels it',
    () => paidOrder(world),
    async (id) => (await world.get(CancelOrderByOperator).cancel(id, OLGA)).order,
    { status: 'canceled' },
  ],
  [
    'an operator who sends a part of its money back',
    () => paidOrder(world),
    async (id) => (await world.get(CreateRefund).create(id, refund)).order,
    { status: 'paid', payments: [{ refund: { amount: 300 } }] },
  ],
  [
    'an operator who gives it more time',
    unpaid,
    (id) => world.get(ExtendWindow).extend(id, extension),
    { status: 'pending_payment', version: 2 },
  ],
])('%s hears what was done', async (_, place, change, done) => {
  const { id } = await place();
  await lockAtCommit();
  expect(await change(id)).toMatchObject(done);
});
