import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { runInvariants } from '../invariants/run-invariants';
import type { OrderView } from '../order/order';
import { PlaceOrder } from './place-order';

let world: World;
let merchant: Client;
let look: Client;
beforeAll(async () => {
  world = await openWorld();
  for (const sku of ['POT', 'TEA']) await insertProduct(world, sku);
  [merchant, look] = [0, 1].map(() => new Client(world.ownerUrl)) as [Client, Client];
  await Promise.all([merchant.connect(), look.connect()]);
});
afterAll(async () => {
  await Promise.all([merchant.end(), look.end()]);
  await world.close();
});

const place = async (...skus: string[]): Promise<OrderView> => {
  const { order } = await world.get(PlaceOrder).place({
    customerId: randomUUID(),
    idempotencyKey: randomUUID(),
    items: skus.map((sku) => ({ sku, quantity: 1 })),
  });
  return order;
};

const WAITS = `SELECT FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;
/** It waits for a quarter of a second each five: a machine that stands still for longer misses some. */
const LIMIT_MS = 45_000;

/** Places again and again, as clients do who hear `busy`, until Postgres says that somebody queues. */
async function placeUntilItQueues(...skus: string[]): Promise<{ placing: Promise<OrderView> }> {
  const giveUpAtMs = performance.now() + LIMIT_MS;
  while (performance.now() < giveUpAtMs) {
    let isRefused = false;
    const placing = place(...skus);
    placing.catch(() => (isRefused = true));
    while (!isRefused) if ((await look.query(WAITS)).rowCount === 1) return { placing };
  }
  throw new Error(`Nobody has queued for ${skus.join()}`);
}

it('queues for a product that others have each time it is looked at, and keeps no stranger', async () => {
  await merchant.query('BEGIN');
  await merchant.query(`UPDATE products SET name = 'Tea' WHERE sku = 'TEA'`);
  const { placing } = await placeUntilItQueues('TEA');
  await place('POT');
  await merchant.query('COMMIT');
  expect(await placing).toMatchObject({ status: 'pending_payment' });
  const results = await runInvariants(world, { limitMs: 3_600_000, newest: 'all' });
  expect(results.filter(({ violations }) => violations > 0)).toEqual([]);
});
