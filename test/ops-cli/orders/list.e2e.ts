import type { OrderView } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import {
  COLOUR,
  expectConventions,
  inFourWays,
  lastcall,
  lastcallJson,
} from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

interface Page {
  items: OrderView[];
  nextCursor: string | null;
}

describe('lastcall orders list', () => {
  let world: CliWorld;

  beforeAll(async () => {
    world = await startCliWorld();
    await insertOrders(world.sql, { count: 3, closesInMs: 600_000, customerId: 'ann' });
    await insertOrders(world.sql, { count: 2, closesInMs: -5_000, customerId: 'bob' });
  });
  afterAll(() => world.close());

  it('shows a table to people, coloured on a terminal only, and JSON to programs', async () => {
    const ways = await inFourWays(world.config, ['orders', 'list']);
    expectConventions(ways, 0);
    expect(ways.tty.stdout).toMatch(COLOUR);
    for (const { stdout } of [ways.tty, ways.pipe, ways.noColor]) {
      expect(stdout).toContain('pending_payment');
      expect(stdout).toContain('overdue by');
    }
    const rows = await world.sql.rows<{ id: string }>('SELECT id FROM orders ORDER BY id DESC');
    const { items } = JSON.parse(ways.json.stdout) as Page;
    expect(items.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
  });

  it('filters by customer and lateness, and pages to the end', async () => {
    const { result } = await lastcallJson<Page>(world.config, ['orders', 'list', '--overdue']);
    expect(result.items.map(({ customerId }) => customerId)).toEqual(['bob', 'bob']);
    const wanted = '--status closing,pending_payment --sku TEA --amount 500..500 --id 0';
    const none = await lastcallJson<Page>(world.config, [
      ...['orders', 'list', ...wanted.split(' '), '--customer', 'bob', '--until', '30d'],
    ]);
    expect(none.result).toEqual({ items: [], nextCursor: null });
    const first = await lastcallJson<Page>(world.config, [
      'orders',
      'list',
      ...wanted.split(' '),
      '--customer',
      'ann',
      '--limit',
      '2',
    ]);
    expect(first.result.items).toHaveLength(2);
    const cursor = first.result.nextCursor as string;
    const args = ['orders', 'list', '--customer', 'ann', '--limit', '2', '--cursor', cursor];
    const second = await lastcallJson<Page>(world.config, args);
    expect(second.result).toMatchObject({ items: [{ customerId: 'ann' }], nextCursor: null });
    expect([first.stderr, second.stderr]).toEqual([`More: --cursor ${cursor}\n`, '']);
  });

  it.each([
    ...(
      ['--amount 500', '--amount 500..', '--amount ..500', '--since 1h', '--sku TEA'] as const
    ).map((given) => [given, 5] as const),
    ...(
      ['--amount 499', '--amount 501..', '--amount ..499', '--until 1h', '--sku CUP'] as const
    ).map((given) => [given, 0] as const),
  ])('takes %s for what it says: %i', async (given, count) => {
    const { result } = await lastcallJson<Page>(world.config, [
      ...['orders', 'list', ...given.split(' ')],
    ]);
    expect(result.items).toHaveLength(count);
  });

  it.each([
    [['--status', 'lost'], 'Expected --status=lost to be one of'],
    [['--since', 'yesterday'], '"yesterday" is no instant'],
    [['--since', '2026-02-31'], '"2026-02-31" is no instant'],
    [['--until', '2026-13-01T10:00:00Z'], '"2026-13-01T10:00:00Z" is no instant'],
    // On another machine it would be another one.
    [['--until', '2026-05-01T10:00'], '"2026-05-01T10:00" is no instant'],
    [['--since', '2026-05-01 (CEST)'], '"2026-05-01 (CEST)" is no instant'],
    [['--amount', '..'], '".." is no amount'],
    [['--cursor', '17'], '"17" is not the id of an order'],
    [['--id', `${'0'.repeat(32)}1`], 'is not how an id begins: at most 32 digits'],
    [['--colour'], 'Nonexistent flag: --colour'],
  ])('refuses %j as misuse', async (flags, why) => {
    const { code, stdout, stderr } = await lastcall(world.config, ['orders', 'list', ...flags]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(why);
  });

  it('repeats no more of a long argument than tells which it is', async () => {
    const long = 'x'.repeat(15_000);
    for (const flags of [['--cursor', long], ['--status', long], [long]]) {
      const args = ['orders', 'list', ...flags];
      const { code, stderr } = await lastcall(world.config, args);
      expect(code).toBe(2);
      expect(stderr.length).toBeLessThan(1_500);
    }
  });
});
