import { insertOrders } from '../../../../test/support/insert-orders';
import { Plans } from '../../../../test/support/plans';
import { openWorld, type World } from '../../../../test/support/world';
import { EraseCustomer } from '../ops/erase-customer';
import { ExportCustomer } from '../ops/export-customer';
import { NamesInLogs } from '../order/names-in-logs';
import { PageSessions } from './page-sessions';

/** Checkouts of a month, of other customers; most are over, and kept. */
const OTHERS = 100_000;
/** What is read and thrown away. */
const MOST_IN_VAIN = 50;

let world: World;
let plans: Plans;
beforeAll(async () => {
  world = await openWorld();
  await world.rows('ALTER TABLE page_sessions SET (autovacuum_enabled = off)');
  await world.rows(
    `INSERT INTO page_sessions (page, subject, scopes, order_id, token_hash, created_at, opened_at, ends_at)
     SELECT 'checkout', 'other-' || i % 5000, '{orders}', gen_random_uuid(), sha256(i::text::bytea), at, at,
            at + interval '1 day'
       FROM generate_series(1, $1::int) AS i, LATERAL (SELECT now() - i * interval '25 s' AS at) AS opened`,
    [OTHERS],
  );
  await world.rows('ANALYZE page_sessions');
  plans = await Plans.of(world);
}, 60_000);
afterAll(() => world?.close());

const wasted = () =>
  plans
    .waste()
    .filter(({ statement }) => statement.includes('page_sessions'))
    .filter(({ inVain, blocksInVain }) => inVain > MOST_IN_VAIN || blocksInVain > MOST_IN_VAIN)
    .map(({ statement, inVain }) => `${inVain} rows in vain: ${statement}`);

it('finds those of the console among the checkouts of a month, and ends them', async () => {
  const sessions = world.get(PageSessions);
  const olivia = { page: 'console', subject: 'olivia', scopes: [], lifetimeMs: 60_000 } as const;
  const { session } = await sessions.openFor(olivia);
  plans.forget();
  expect(await sessions.list('console')).toMatchObject([{ id: session.id }]);
  expect(await sessions.revoke('console', { id: session.id })).toEqual({ sessions: 1, links: 0 });
  expect(await sessions.revoke('console', 'all')).toEqual({ sessions: 0, links: 0 });
  expect(wasted()).toEqual([]);
});

it("exports and erases one customer's among those of all", async () => {
  const [order] = await insertOrders(world, { count: 1, closesInMs: 60_000, customerId: 'ann' });
  const { code } = await world.get(PageSessions).invite({
    ...{ page: 'checkout', subject: 'ann', scopes: ['orders'], orderId: order?.id },
    ...{ codeLifetimeMs: 60_000, lifetimeMs: 60_000 },
  });
  await world.get(PageSessions).open('checkout', code);
  await world.rows(
    `UPDATE orders SET status = 'closed', closed_at = now() WHERE customer_id = 'ann'`,
  );
  plans.forget();
  const kept = await new ExportCustomer(world.dataSource, world.get(NamesInLogs)).export('ann');
  expect(kept.pageSessions).toMatchObject([{ page: 'checkout' }]);
  const why = { actor: 'olivia', reason: 'request 2026-17' };
  await new EraseCustomer(world.dataSource, world.stream).erase('ann', why);
  expect(wasted()).toEqual([]);
  expect(await world.rows(`SELECT FROM page_sessions WHERE subject = 'ann'`)).toEqual([]);
});
