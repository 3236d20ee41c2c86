import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { Overview } from './overview';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const placed = async (count: number, closesInMs: number): Promise<string[]> =>
  (await insertOrders(world, { count, closesInMs })).map(({ id }) => id);

it('counts open orders by what they are, and by when they are due', async () => {
  await placed(1, 30_000);
  await placed(2, 240_000);
  const fenced = await placed(1, 30_000);
  const closed = await placed(3, 30_000);
  const become = `UPDATE orders SET status = $2, close_reason = 'payment_timeout',
    closed_at = CASE $2 WHEN 'closed' THEN now() END WHERE id = ANY ($1::uuid[])`;
  await world.rows(become, [fenced, 'closing']);
  await world.rows(become, [closed, 'closed']);
  expect(await world.get(Overview).read()).toMatchObject({
    open: { total: 3, isMore: false, dueIn1m: 1, dueIn5m: 3, dueIn10m: 3 },
    closing: 1,
  });
});
