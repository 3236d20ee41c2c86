import { insertOrders, TEST_SKU } from '../../../../test/support/insert-orders';
import { statusesOf } from '../../../../test/support/order-statuses';
import { paidOrder } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { ForceCloseOrder } from '../closing/force-close-order';
import { ReadOrder } from '../closing/read-order';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { PlaceOrder } from '../placing/place-order';

const OLGA = { actor: 'olga', reason: 'case 9' };

describe('a command beside a host whose hooks it cannot call', () => {
  let world: World;
  let command: World;
  beforeAll(async () => {
    world = await openWorld();
    command = await openWorld({ beside: world, hooksElsewhere: true });
  });
  afterAll(async () => {
    await command?.close();
    await world?.close();
  });

  const elsewhere = { code: 'hooks_elsewhere' };

  it('changes no order, whatever it is asked to do', async () => {
    const [unpaid] = await insertOrders(world, { count: 1, closesInMs: 600_000 });
    const paid = await paidOrder(world);
    const unpaidId = unpaid?.id as string;
    const closing = command.get(ForceCloseOrder).forceClose(unpaidId, OLGA);
    await expect(closing).rejects.toMatchObject(elsewhere);
    const canceling = command.get(CancelOrderByOperator).cancel(paid.id, OLGA);
    await expect(canceling).rejects.toMatchObject(elsewhere);
    expect(await statusesOf(world, [unpaidId, paid.id])).toEqual(['pending_payment', 'paid']);
  });

  it('places none', async () => {
    const items = [{ sku: TEST_SKU, quantity: 1 }];
    const placing = command.get(PlaceOrder).place({
      ...{ customerId: 'bob', idempotencyKey: 'first', items },
    });
    await expect(placing).rejects.toMatchObject(elsewhere);
    expect(await world.rows("SELECT 1 FROM orders WHERE customer_id = 'bob'")).toEqual([]);
  });

  it('reads one that is overdue as it is: a process of the host closes it', async () => {
    const [overdue] = await insertOrders(world, { count: 1, closesInMs: -1_000 });
    const orderId = overdue?.id as string;
    expect(await command.get(ReadOrder).readOfAnyCustomer(orderId)).toMatchObject({
      status: 'pending_payment',
    });
    expect(await world.get(ReadOrder).readOfAnyCustomer(orderId)).toMatchObject({
      status: 'closed',
    });
  });
});
