import { insertOldOrders } from '../../../../test/support/insert-old-orders';
import { openWorld, type World } from '../../../../test/support/world';
import type { OrderView } from './order';
import { type OrderFilter, searchOrders } from './search-orders';

/** A little more than two pages look at. */
const ORDERS = 45_000;
/** One an order; the newest is placed at the end of this day. */
const NEWEST_AT = new Date('2026-03-01T12:00:00.000Z');

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await insertOldOrders(world, { count: ORDERS, newestAt: NEWEST_AT, apartMs: 1_000 });
});
afterAll(() => world?.close());

/** All pages of a search, until its cursor ends. */
async function pagesOf(filter: Omit<OrderFilter, 'limit'>, limit = 100): Promise<OrderView[][]> {
  const pages: OrderView[][] = [];
  for (let cursor: string | undefined; pages.length < 20;) {
    const page = await searchOrders(world, { ...filter, limit, cursor });
    pages.push([...page.items]);
    if (page.nextCursor === null) return pages;
    cursor = page.nextCursor;
  }
  throw new Error('The search does not end');
}

const ids = (orders: readonly OrderView[]): string[] => orders.map(({ id }) => id);
const secondsAgo = (n: number): Date => new Date(NEWEST_AT.getTime() - n * 1_000);

it('looks at so many orders a page, and finds what is rare on a later one', async () => {
  const [rare] = await world.rows<{ id: string }>(
    `UPDATE orders SET status = 'shipped' WHERE id = (SELECT min(id::text)::uuid FROM orders)
     RETURNING id`,
  );
  const pages = await pagesOf({ status: ['shipped', 'closing'] });
  expect(pages.map((page) => page.length)).toEqual([0, 0, 1]);
  expect(ids(pages.flat())).toEqual([rare?.id]);
});

it('gives every order once, newest first, however the pages fall', async () => {
  const since = secondsAgo(250);
  const expected = await world.rows<{ id: string }>(
    'SELECT id FROM orders WHERE created_at >= $1 ORDER BY id DESC',
    [since],
  );
  expect(expected).toHaveLength(251);
  const pages = await pagesOf({ since }, 60);
  expect(ids(pages.flat())).toEqual(expected.map(({ id }) => id));
});

it('finds the orders of a span of time without looking at those before and after', async () => {
  const [page] = await pagesOf({ since: secondsAgo(40_010), until: secondsAgo(40_000) });
  expect(page?.map(({ createdAt }) => createdAt).reverse()).toEqual(
    Array.from({ length: 10 }, (_, i) => secondsAgo(40_010 - i).toISOString()),
  );
});

it('finds by customer, by how the id begins, by amount and by sku, and by all of them', async () => {
  const [one] = await world.rows<{ id: string; customer_id: string; amount: string }>(
    'SELECT id, customer_id, amount FROM orders ORDER BY id OFFSET 20 LIMIT 1',
  );
  const { id, customer_id: customerId, amount } = one as NonNullable<typeof one>;
  const amounts = { min: Number(amount), max: Number(amount) };
  const [byCustomer] = await pagesOf({ customerId });
  expect(ids(byCustomer ?? [])).toContain(id);
  expect(new Set(byCustomer?.map((order) => order.customerId))).toEqual(new Set([customerId]));
  for (const idPrefix of [id, id.toUpperCase(), id.replaceAll('-', ''), id.slice(0, 20)]) {
    expect((await pagesOf({ idPrefix })).map(ids)).toEqual([[id]]);
  }
  const all = { customerId, idPrefix: id.slice(0, 10), amount: amounts, sku: 'OLD' };
  expect((await pagesOf(all)).map(ids)).toEqual([[id]]);
  expect((await pagesOf({ ...all, sku: 'NEW' })).flat()).toEqual([]);
  expect((await pagesOf({ ...all, amount: { min: amounts.min + 1 } })).flat()).toEqual([]);
});
