import { randomUUID } from 'node:crypto';
import { insertProduct, TEST_SKU } from '../../../../test/support/insert-orders';
import type { Posted } from '../../../../test/support/ledger-provider';
import { receive } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { CreateRefund } from '../ops/create-refund';
import { readOrders } from '../order/order-rows';
import { StartPayment } from '../payments/start-payment';
import { PlaceOrder } from '../placing/place-order';

const CUP = 'CUP';
let world: World;
beforeAll(async () => {
  world = await openWorld();
  for (const sku of [CUP, TEST_SKU]) await insertProduct(world, sku);
});
afterAll(() => world?.close());

it('says of each product what came back of it, and of no other', async () => {
  const customerId = 'ann';
  const { order } = await world.get(PlaceOrder).place({
    ...{ customerId, idempotencyKey: randomUUID() },
    items: [CUP, TEST_SKU].map((sku) => ({ sku, quantity: 3 })),
  });
  const { payment } = await world.get(StartPayment).start({ orderId: order.id, customerId });
  await receive(world, world.provider.pay(payment.id, new Date()) as Posted);
  const sendBack = (restock: { sku: string; quantity: number }[]) =>
    world.get(CreateRefund).create(order.id, {
      ...{ actor: 'olga', reason: 'case 9', amount: 10, restock },
    });
  const items = async () => (await readOrders(world, [order.id])).get(order.id)?.items;
  const line = (sku: string) => ({ sku, quantity: 3, unitPrice: 500 });
  await sendBack([{ sku: TEST_SKU, quantity: 2 }]);
  expect(await items()).toEqual([line(CUP), { ...line(TEST_SKU), returned: 2 }]);
  await sendBack([{ sku: CUP, quantity: 1 }]);
  expect(await items()).toEqual([
    { ...line(CUP), returned: 1 },
    { ...line(TEST_SKU), returned: 2 },
  ]);
});
