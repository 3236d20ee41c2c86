import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { expectConventions, inFourWays, lastcall, lastcallJson } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall sweep run', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  it('closes everything overdue, says so, and then finds nothing', async () => {
    await insertOrders(world.sql, { count: 700, closesInMs: -60_000 });
    await insertOrders(world.sql, { count: 2, closesInMs: 600_000 });
    const { code, result } = await lastcallJson<Record<string, number>>(world.config, [
      'sweep',
      'run',
    ]);
    expect(code).toBe(0);
    expect(result).toMatchObject({
      ...{ found: 700, handled: 700, kinds: { payment: 700 }, closed: 700 },
      ...{ lost: 0, putBack: 0, failed: 0 },
    });
    expect(result.oldestLagMs).toBeGreaterThanOrEqual(60_000);
    const rows = await world.sql.rows(
      `SELECT status, count(*)::int AS n FROM orders GROUP BY status ORDER BY status`,
    );
    expect(rows).toEqual([
      { status: 'closed', n: 700 },
      { status: 'pending_payment', n: 2 },
    ]);
    const ways = await inFourWays(world.config, ['sweep', 'run']);
    expectConventions(ways, 0);
    expect(ways.pipe.stdout).toMatch(/^found\s+0\nhandled\s+0\nof these\s+-\nlost\s+0\n/);
  });

  it('counts no deadline of another kind as an order that it closed', async () => {
    const notice = { type: 'payment.succeeded', paymentId: 'p', providerPaymentId: 'pp' };
    const receive = () =>
      world.sql.rows(
        `WITH stored AS (
           INSERT INTO webhook_events (id, provider, event_id, notice)
           SELECT id, 'sandbox', id::text, $1 FROM (
             SELECT gen_random_uuid() AS id FROM generate_series(1, 3)) AS ids RETURNING id)
         INSERT INTO deadlines (kind, subject_id, due_at)
         SELECT 'webhook', id, now() - interval '1 minute' FROM stored`,
        [JSON.stringify({ ...notice, money: { amount: 500, currency: 'EUR' }, paidAt: null })],
      );
    await receive();
    await insertOrders(world.sql, { count: 2, closesInMs: -60_000 });
    const { result } = await lastcallJson(world.config, ['sweep', 'run']);
    const kinds = { payment: 2, webhook: 3 };
    expect(result).toMatchObject({ found: 5, handled: 5, kinds, closed: 2 });
    await receive();
    const sharded = ['sweep', 'run', '--shards', '2', '--report'];
    const byShards = await lastcallJson(world.config, sharded);
    expect(byShards.result).toMatchObject({ handled: 3, kinds: { webhook: 3 }, closed: 0 });
    await receive();
    const { stdout } = await lastcall(world.config, ['sweep', 'run']);
    expect(stdout).toMatch(/^found +3\nhandled +3\nof these +webhook 3\nlost /);
  });

  it('sweeps by shards, and tells of each who had it and what became of it', async () => {
    await insertOrders(world.sql, { count: 90, closesInMs: -60_000 });
    const sharded = ['sweep', 'run', '--shards', '3'];
    const { code, result } = await lastcallJson<Record<string, unknown>>(world.config, [
      ...sharded,
      '--report',
    ]);
    expect(code).toBe(0);
    expect(result).toMatchObject({ due: 90, found: 90, handled: 90, closed: 90, left: 0 });
    expect(result).toMatchObject({
      interrupted: false,
      serviceLevel: { withinMs: 30_000, met: true },
    });
    const shard = { due: 30, found: 30, handled: 30, closed: 30, state: 'ended', kind: 'payment' };
    expect(result.shards).toMatchObject([1, 2, 3].map((n) => ({ ...shard, shard: n })));
    const ways = await inFourWays(world.config, sharded);
    expectConventions(ways, 0);
    expect(ways.pipe.stdout).toMatch(
      /^found\s+0\n[^]+service level {2}met: everything overdue within 30 s/,
    );
    const alone = await lastcall(world.config, ['sweep', 'run', '--report']);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('goes with --shards')]);
  });
});
