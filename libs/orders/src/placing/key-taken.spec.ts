import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertProduct } from '../../../../test/support/insert-orders';
import { untilLocksAreWaitedFor } from '../../../../test/support/lock-waits';
import { openWorld, type World } from '../../../../test/support/world';
import { PlaceOrder } from './place-order';

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await insertProduct(world, 'TEA');
});
afterAll(() => world?.close());

const customerId = randomUUID();
const place = (idempotencyKey: string) =>
  world.get(PlaceOrder).place({ customerId, idempotencyKey, items: [{ sku: 'TEA', quantity: 1 }] });

// Where a customer is limited in nothing, two processes may place for one at the same time.
describe('a key that another process writes meanwhile', () => {
  it('places no second order, and is answered with the first one', async () => {
    const { order } = await place('first');
    const look = new Client({ connectionString: world.ownerUrl });
    await look.connect();
    const other = await beginHeldOpen(world.dataSource);
    try {
      await other.query(
        `INSERT INTO idempotency_keys (customer_id, key, body_hash, order_id)
         SELECT customer_id, 'again', body_hash, order_id FROM idempotency_keys
          WHERE customer_id = $1`,
        [customerId],
      );
      const again = place('again');
      await untilLocksAreWaitedFor(look, 1);
      await other.commitTransaction();
      expect(await again).toMatchObject({ order: { id: order.id }, replayed: true });
    } finally {
      await other.release();
      await look.end();
    }
    const orders = await world.rows('SELECT FROM orders WHERE customer_id = $1', [customerId]);
    expect(orders).toHaveLength(1);
  });
});
