import type { OrderDetailsView } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import {
  expectConventions,
  inFourWays,
  lastcall,
  lastcallJson,
  plain,
} from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall orders show', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  it('tells why an order was closed, by whom and how late', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: -90_000 });
    const id = order?.id as string;
    await lastcall(world.config, ['sweep', 'run']);
    const ways = await inFourWays(world.config, ['orders', 'show', id]);
    expectConventions(ways, 0);
    for (const stdout of [ways.tty, ways.pipe, ways.noColor].map(plain)) {
      expect(stdout).toMatch(/closed late by\s+\d+ min/);
      expect(stdout).toMatch(/pending_payment\s+closed\s+sweep\s+payment_timeout/);
    }
    const { order: shown, history, lagMs } = JSON.parse(ways.json.stdout) as OrderDetailsView;
    const [row] = await world.sql.rows<{ status: string; lag: string }>(
      `SELECT status, extract(epoch FROM closed_at - closes_at) * 1000 AS lag FROM orders WHERE id = $1`,
      [id],
    );
    expect(shown.status).toBe(row?.status);
    expect(lagMs).toBe(Number(row?.lag));
    expect(history.map(({ to, by }) => [to, by])).toEqual([
      ['pending_payment', 'customer'],
      ['closed', 'sweep'],
    ]);
  });

  it('changes nothing, not even an overdue order, and shows its deadline and alarm', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: -5_000 });
    const id = order?.id as string;
    const { result } = await lastcallJson<OrderDetailsView>(world.config, ['orders', 'show', id]);
    expect(result.order.status).toBe('pending_payment');
    expect(result.deadlines).toMatchObject([{ kind: 'payment', alarm: 'none' }]);
    expect(await world.sql.rows('SELECT status FROM orders WHERE id = $1', [id])).toEqual([
      { status: 'pending_payment' },
    ]);
  });

  it('says so when there is no such order', async () => {
    const unknown = '00000000-0000-7000-8000-000000000000';
    const { code, stderr } = await lastcall(world.config, ['orders', 'show', unknown]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/Error: There is no such order\nNext: {2}lastcall orders list/);
    const json = await lastcallJson(world.config, ['orders', 'show', unknown]);
    expect(json).toMatchObject({
      code: 3,
      result: { error: { code: 'order_not_found', exitCode: 3 } },
    });
  });
});
