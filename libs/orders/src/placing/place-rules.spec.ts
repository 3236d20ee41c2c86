import { insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { type PlaceCommand, PlaceOrder } from './place-order';

/** What a host's own controller passes on is what somebody sent: of any type whatever. */

let world: World;
beforeAll(async () => {
  world = await openWorld({});
  await insertProduct(world, 'TEA');
});
afterAll(() => world?.close());

const lines = (...quantities: unknown[]) =>
  quantities.map((quantity) => ({ sku: 'TEA', quantity }));
const each = (field: string, values: readonly unknown[], given: (value: unknown) => object) =>
  values.map((value) => [field, given(value)] as [string, object]);

it.each<[string, object]>([
  ...each('items[0].quantity', ['1', 0, 1.5, 1_000, true, null, undefined], (quantity) => ({
    items: lines(quantity, 2),
  })),
  ['items[1].quantity', { items: lines(5, -4) }],
  ...each(
    'items',
    [undefined, {}, [], lines(999, 1), lines(...Array<number>(51).fill(1))],
    (of) => ({
      items: of,
    }),
  ),
  ['items[0]', { items: [null] }],
  ...each('items[0].sku', ['', 'T\0', 7, undefined], (sku) => ({ items: [{ sku, quantity: 1 }] })),
  ...each('expectedTotal', ['500', -1, null], (expectedTotal) => ({ expectedTotal })),
  ...each('customerId', ['', 'a'.repeat(201), 'a\0', {}, 7, undefined], (customerId) => ({
    customerId,
  })),
  ...each('Idempotency-Key', ['', 'a b', 'a'.repeat(201), 7, undefined], (idempotencyKey) => ({
    idempotencyKey,
  })),
])('refuses a wrong %s (%#) and places what came beside it', async (field, given) => {
  const command = { customerId: 'ann', idempotencyKey: 'k', items: lines(1), ...given };
  const wrong = world.get(PlaceOrder).place(command as PlaceCommand);
  const beside = { customerId: 'bob', idempotencyKey: 'k', items: [{ sku: 'TEA', quantity: 1 }] };
  const [refused, placed] = await Promise.allSettled([wrong, world.get(PlaceOrder).place(beside)]);
  expect(refused).toMatchObject({
    reason: { code: 'invalid_request', fields: { errors: [{ field }] } },
  });
  expect(placed.status).toBe('fulfilled');
  expect(await world.rows(`SELECT 1 FROM orders WHERE customer_id <> 'bob'`)).toEqual([]);
});

it('takes lines with more to them than is asked for, as of another order', async () => {
  const items = [{ sku: 'TEA', quantity: 2, unitPrice: 1 }];
  const { order } = await world
    .get(PlaceOrder)
    .place({ customerId: 'a'.repeat(200), idempotencyKey: 'more', items });
  expect(order).toMatchObject({ amount: 1_000, items: [{ quantity: 2, unitPrice: 500 }] });
});
