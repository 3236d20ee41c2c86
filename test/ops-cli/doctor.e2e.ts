import type { Check } from '@app/orders';
import { type Sandbox, startSandbox } from '../../apps/sandbox/src/sandbox';
import { startTestApp, WEBHOOK_SECRET } from '../support/app';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { holdMoney } from '../support/hold-money';
import { insertOrders } from '../support/insert-orders';
import { expectConventions, inFourWays, lastcall, lastcallJson } from '../support/lastcall';
import { takeRedisDatabase } from '../support/redis';
import { until } from '../support/until';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

interface Result {
  findings: number;
  warnings: number;
  checks: Check[];
}

const DOWN = { DATABASE_URL: 'postgres://x@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };

describe('lastcall doctor', () => {
  let world: CliWorld;
  let sandbox: Sandbox;

  beforeAll(async () => {
    const webhookUrl = 'http://127.0.0.1:1/';
    const options = { port: 0, dataFolder: null, webhookSecret: WEBHOOK_SECRET, webhookUrl };
    sandbox = await startSandbox(options);
    world = await startCliWorld({ settings: { SANDBOX_URL: sandbox.url } });
  });
  afterAll(async () => {
    await world?.close();
    await sandbox?.close();
  });

  it('finds what is wrong, with a fix for each, in all four ways', async () => {
    await insertOrders(world.sql, { count: 1, closesInMs: -60_000 });
    const ways = await inFourWays(world.config, ['doctor']);
    expectConventions(ways, 7);
    const { checks, findings, warnings } = JSON.parse(ways.json.stdout) as Result;
    const stateOf = (name: string) => checks.find((check) => check.name === name)?.state;
    expect(stateOf('migrations')).toBe('ok');
    expect(stateOf('alive')).toBe('finding');
    expect(stateOf('overdue deadlines')).toBe('finding');
    expect(checks.filter(({ area }) => area === 'invariants').length).toBeGreaterThanOrEqual(11);
    const bad = checks.filter(({ state }) => state !== 'ok');
    expect(bad).toHaveLength(findings + warnings);
    // Tests connect as an installation should (test/support/database.ts).
    expect(stateOf('role')).toBe('ok');
    for (const { fix } of bad) expect(fix).toEqual(expect.any(String));
    for (const { stdout } of [ways.tty, ways.pipe, ways.noColor]) {
      expect(stdout).toContain('workers alive: npm start');
    }
    expect(ways.json.stdout).not.toContain(world.config.SANDBOX_WEBHOOK_SECRET);
  });

  it('looks at all the rest after a rollback, and warns of what a newer version has migrated', async () => {
    await world.rows(
      `INSERT INTO lastcall_migrations (timestamp, name) VALUES (9, 'Later9000000000000')`,
    );
    const { result } = await lastcallJson<Result>(world.config, ['doctor']);
    const later = result.checks.find(({ name }) => name === 'migrations');
    expect(later).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('Later9000000000000') as string,
      fix: expect.stringContaining('rolled back') as string,
    });
    expect(result.checks.filter(({ area }) => area === 'invariants')).not.toHaveLength(0);
    await world.rows('DELETE FROM lastcall_migrations WHERE timestamp = 9');
  });

  it('finds a webhook endpoint that is off, and one that has missed events', async () => {
    const told = async () =>
      (await lastcallJson<Result>(world.config, ['doctor'])).result.checks.filter(({ name }) =>
        name.startsWith('webhook endpoints'),
      );
    const [off, missed] = [
      'webhook endpoints switched off',
      'webhook endpoints that missed events',
    ];
    expect(await told()).toMatchObject([
      { name: off, state: 'ok' },
      { name: missed, state: 'ok' },
    ]);
    await world.rows(
      `WITH off AS (
         INSERT INTO webhook_endpoints (id, url, events, secret, from_tx, status)
         VALUES (gen_random_uuid(), 'https://shop.invalid/', '{*}', 'whsec_x', '0', 'off') RETURNING id)
       INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until, status, settled_at)
       SELECT id, gen_random_uuid(), 1, 'order.paid', now(), 'dead', now() FROM off`,
    );
    const fix = (how: string): unknown =>
      expect.stringContaining(`lastcall webhook-endpoints ${how} ID`);
    expect(await told()).toMatchObject([
      { name: off, state: 'finding', fix: fix('enable') },
      { name: missed, state: 'finding', fix: fix('redeliver') },
    ]);
  });

  it('names every end of a held webhook and of money on hold', async () => {
    const [order] = await insertOrders(world.sql, {
      count: 1,
      closesInMs: 600_000,
      payment: 'open',
    });
    await holdMoney(world.sql, order?.paymentId, 499, 'amount_mismatch');
    await world.rows(
      `INSERT INTO webhook_events (id, provider, event_id, notice, status, result)
       VALUES (gen_random_uuid(), 'sandbox', 'evt-of-nobody', '{"type": "payment.succeeded"}',
               'held', 'unknown_reference')`,
    );
    const { checks } = (await lastcallJson<Result>(world.config, ['doctor'])).result;
    const fixOf = (name: string) => checks.find((check) => check.name === name)?.fix;
    expect(fixOf('held webhooks')).toContain('lastcall webhooks replay ID, or dismiss ID');
    expect(fixOf('money on hold')).toContain('settle ID --refund, --keep or --accept');
  });

  it('finds a Redis that another database uses, and leaves it to that', async () => {
    const key = '{lc}:installation';
    const told = async () => {
      const { result } = await lastcallJson<Result>(world.config, ['doctor']);
      return result.checks.find(({ area, name }) => area === 'redis' && name === 'last used by');
    };
    expect(await told()).toMatchObject({ state: 'ok', detail: 'this database' });
    await world.redis.set(key, 'another');
    expect(await told()).toMatchObject({
      state: 'finding',
      detail: expect.stringContaining('another database, another (this is ') as string,
      fix: expect.stringContaining('REDIS_URL ends in /1') as string,
    });
    expect(await world.redis.get(key)).toBe('another');
  });

  it('finds processes, or itself, with another Redis than the others', async () => {
    const marked = (count: number) =>
      until('all have told of their Redis', async () => {
        const told = `SELECT DISTINCT settings ->> 'REDIS_MARK' FROM processes
                       WHERE settings ? 'REDIS_MARK' AND left_at IS NULL`;
        return (await world.rows(told)).length === count;
      });
    const found = async (env: Record<string, string> = {}) => {
      const { result } = await lastcallJson<Result>(world.config, ['doctor'], { env });
      return result.checks.find(({ area, name }) => area === 'redis' && name === 'one for all');
    };
    await marked(1);
    expect(await found()).toMatchObject({ state: 'ok', detail: 'the same for 1 process and here' });
    const REDIS_URL = await takeRedisDatabase();
    expect(await found({ REDIS_URL })).toMatchObject({
      state: 'finding',
      detail: expect.stringMatching(/^by their marks: \w{12} at \S+:\d+, .*without a mark here$/),
    });
    const other = await startTestApp({ beside: world, settings: { ROLES: 'api', REDIS_URL } });
    try {
      await marked(2);
      expect(await found()).toMatchObject({
        state: 'finding',
        detail: expect.stringMatching(/(\w{12} at \S+:\d+, ){2}\w{12} here$/),
        fix: expect.stringContaining('the same REDIS_URL') as string,
      });
    } finally {
      await other.close();
    }
    expect(await found()).toMatchObject({ state: 'ok' });
  });

  it('looks at what it can without the secret of a provider, and says which it needs', async () => {
    const env = { SANDBOX_WEBHOOK_SECRET: '' };
    const { code, result } = await lastcallJson<Result>(world.config, ['doctor'], { env });
    expect(code).toBe(7);
    expect(result.checks.filter(({ area }) => area === 'provider')).toMatchObject([
      { name: 'sandbox', state: 'unknown', detail: 'SANDBOX_WEBHOOK_SECRET is not set here' },
    ]);
  });

  it('says which provider does not answer, and which nobody asks any more', async () => {
    const told = async (env: Record<string, string> = {}) => {
      const { code, result } = await lastcallJson<Result>(world.config, ['doctor'], { env });
      const ofProviders = result.checks.filter(({ area }) => area === 'provider');
      // One that takes more than a second has answered as well.
      const said = ({ state, detail }: Check) => (/^answers within/.test(detail) ? 'ok' : state);
      return { code, states: ofProviders.map((check) => `${check.name} ${said(check)}`) };
    };
    expect(await told()).toMatchObject({ states: ['sandbox reachable ok'] });
    const SANDBOX_URL = 'http://127.0.0.1:1';
    expect(await told({ SANDBOX_URL })).toEqual({ code: 6, states: ['sandbox reachable unknown'] });
    const options = { count: 1, closesInMs: 600_000, payment: 'open', provider: 'stripe' } as const;
    await insertOrders(world.sql, options);
    expect(await told()).toEqual({ code: 7, states: ['sandbox reachable ok', 'stripe finding'] });
  });

  it('looks at what it can while Postgres and Redis are down', async () => {
    const { code, result } = await lastcallJson<Result>(world.config, ['doctor'], { env: DOWN });
    expect(code).toBe(6);
    const unknown = result.checks.filter(({ state }) => state === 'unknown');
    expect(unknown.map(({ area, name }) => `${area} ${name}`)).toEqual([
      'postgres reachable',
      'redis reachable',
    ]);
  });

  it('says that a cluster is down of which no node answers, and names each node', async () => {
    const env = { REDIS_URL: 'redis://127.0.0.1:1,127.0.0.1:2' };
    const { code, result } = await lastcallJson<Result>(world.config, ['doctor'], { env });
    const ofRedis = result.checks.filter(({ area, state }) => area === 'redis' && state !== 'ok');
    expect(ofRedis.slice(0, 3).map(({ name, state }) => `${name} ${state}`)).toEqual([
      'cluster reachable unknown',
      'reachable of 127.0.0.1:1 unknown',
      'reachable of 127.0.0.1:2 unknown',
    ]);
    expect(code).toBe(6);
  });

  it('leaves other commands to say that Postgres is down', async () => {
    const ended = await lastcall(world.config, ['orders', 'list'], { env: DOWN });
    expect(ended.code).toBe(6);
    expect(ended.stderr).toMatch(
      /Error: Postgres does not answer\nWhy: .+\nNext: {2}start Postgres/,
    );
  });
});
