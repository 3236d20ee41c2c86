import { openOrder, paidOrder, tell } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import type { Page } from '../order/page';
import { CreateRefund } from './create-refund';
import { ListHeldPayments } from './held-payments';
import { ListRefunds } from './refunds';
import { ListWebhooks } from './webhooks';

interface Asked {
  readonly limit: number;
  readonly cursor?: string;
}
type List = (asked: Asked) => Promise<Page<{ readonly id: string }>>;

let world: World;
beforeAll(async () => {
  world = await openWorld();
  const money = { amount: 900, currency: 'EUR', paidAt: new Date() };
  for (let n = 0; n < 5; n++) {
    await tell(world, await openOrder(world), 'payment.succeeded', { money });
    const { id } = await paidOrder(world);
    await world.get(CreateRefund).create(id, { amount: 300, actor: 'olga', reason: 'case 9' });
  }
  await world.rows(
    `UPDATE refunds SET status = 'succeeded' WHERE id = (SELECT min(id::text)::uuid FROM refunds)`,
  );
});
afterAll(() => world?.close());

const LISTS: readonly [what: string, expected: string, list: () => List][] = [
  [
    'money on hold',
    'SELECT id FROM payments WHERE hold_reason IS NOT NULL',
    () => (asked) => new ListHeldPayments(world.dataSource).list(asked),
  ],
  [
    'refunds that are not over',
    `SELECT id FROM refunds WHERE status <> 'succeeded'`,
    () => (asked) => new ListRefunds(world.dataSource).list({ ...asked, unsettled: true }),
  ],
  [
    'refunds',
    'SELECT id FROM refunds',
    () => (asked) => new ListRefunds(world.dataSource).list(asked),
  ],
  [
    'held webhooks',
    `SELECT id FROM webhook_events WHERE status = 'held'`,
    () => (asked) => new ListWebhooks(world.dataSource).list({ ...asked, status: 'held' }),
  ],
];

it.each(LISTS)('%s: each is listed once, the newest first, a page at a time', async (...one) => {
  const [, expected, list] = one;
  const rows = await world.rows<{ id: string }>(`${expected} ORDER BY id DESC`);
  expect(rows.length).toBeGreaterThan(3);
  const read: { readonly id: string }[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await list()({ limit: 2, ...(cursor && { cursor }) });
    expect(page.items.length).toBeLessThanOrEqual(2);
    read.push(...page.items);
    cursor = page.nextCursor;
  }
  expect(read.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
});
