import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { PageSessions } from './page-sessions';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

it('makes a link to an order for its own customer, and for no other', async () => {
  const [order] = await insertOrders(world, { count: 1, closesInMs: 60_000, customerId: 'ann' });
  const linkFor = (subject: string) =>
    world.get(PageSessions).invite({
      ...{ page: 'checkout', subject, scopes: ['orders'], orderId: order?.id },
      ...{ codeLifetimeMs: 60_000, lifetimeMs: 60_000 },
    });
  await expect(linkFor('bob')).rejects.toMatchObject({ code: 'order_not_found' });
  expect(await world.rows('SELECT FROM page_sessions')).toEqual([]);
  expect((await linkFor('ann')).code).not.toBe('');
});
