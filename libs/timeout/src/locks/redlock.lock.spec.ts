import { Redis } from 'ioredis';
import { until } from '../../../../test/support/until';
import { extendOften } from '../testing/extend-often';
import { OwnRedis } from '../testing/own-redis';
import { describeLock } from './lock.contract';
import { REDLOCK_DEFAULTS, type RedlockLockOptions } from './redlock-options';
import { RedlockLock } from './redlock.lock';

let redis: OwnRedis;
const errors: Error[] = [];
const opened: RedlockLock[] = [];

function create(options: Partial<RedlockLockOptions> = {}): RedlockLock {
  const lock = new RedlockLock({
    redis: redis.url,
    onError: (error) => errors.push(error),
    shortCircuitMs: 200,
    // A machine that stands still is neither a silent Redis nor an owner that died.
    callTimeoutMs: 10_000,
    ttlMs: 20_000,
    ...options,
  });
  opened.push(lock);
  return lock;
}

beforeAll(async () => {
  redis = await OwnRedis.start();
});
afterAll(() => redis.remove());
beforeEach(() => errors.splice(0));
// Those of a test that failed as well: a connection left open keeps the run from ending.
afterEach(() => Promise.all(opened.splice(0).map((lock) => lock.close())));

describeLock('RedlockLock', {
  create,
  excludes: true,
  store: () => redis,
  callTimeoutMs: REDLOCK_DEFAULTS.callTimeoutMs,
});

describe('RedlockLock', () => {
  // What a test that failed has left must not make the next one fail.
  beforeEach(() => redis.flush());

  it('has its defaults of options that are undefined', async () => {
    const names = Object.keys(REDLOCK_DEFAULTS);
    const lock = create(Object.fromEntries(names.map((name) => [name, undefined])));
    const held = await lock.acquireOne('lock:order:1');
    const ttlMs = await redis.with((client) => client.pttl('{lc}:lock:order:1'));
    await held?.release();
    expect(errors).toEqual([]);
    expect(ttlMs).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(REDLOCK_DEFAULTS.ttlMs);
  });

  it('keeps the key visible in Redis, behind one prefix', async () => {
    const lock = create();
    const held = await lock.acquireOne('lock:order:1');
    const names = await redis.with((client) => client.keys('*'));
    expect(names.sort()).toEqual(['{lc}:lock:order:1', '{lc}:lock:single']);
    await held.release();
    expect(await redis.with((client) => client.dbsize())).toBe(0);
    await lock.close();
  });

  it('keeps a key from batches for as long as it is extended, and not for its first hold alone', async () => {
    const ttlMs = 60_000;
    const often = extendOften(ttlMs);
    const held = await create({ ttlMs }).acquireOne('lock:order:1');
    const [register, name] = ['{lc}:lock:single', '{lc}:lock:order:1'];
    // As when its first hold is over by the clock.
    await redis.with((client) => client.zadd(register, 'XX', 1, name));
    await until('it is extended', async () => {
      const untilMs = await redis.with((client) => client.zscore(register, name));
      return Number(untilMs) > Date.now();
    });
    often.mockRestore();
    const keys = Array.from({ length: 1_000 }, (_, index) => `lock:order:${index}`);
    const others = await create().acquireFree(keys);
    expect([others.outcome, others.keys.size, others.keys.has('lock:order:1')]).toEqual([
      'contended',
      999,
      false,
    ]);
    await Promise.all([held.release(), others.release()]);
  });

  it('keeps its keys behind the tags it was given, and each key behind one of them', async () => {
    const tags = ['{of:0}', '{of:1}', '{of:2}'];
    const [lock, other] = [create({ tags }), create({ tags })];
    const keys = Array.from({ length: 60 }, (_, index) => `lock:order:${index}`);
    const held = await lock.acquireFree(keys);
    expect(held).toMatchObject({ outcome: 'held', keys: new Set(keys) });
    const names = (): Promise<string[]> => redis.with((client) => client.keys('{of:*'));
    const orders = (await names()).filter((name) => name.includes(':order:'));
    const used = orders.map((name) => name.replace(/:lock.*/, ''));
    expect([used.length, new Set(used)]).toEqual([keys.length, new Set(tags)]);
    const others = await other.acquireFree([...keys, 'lock:order:free']);
    expect([others.outcome, [...others.keys]]).toEqual(['contended', ['lock:order:free']]);
    await Promise.all([held.release(), others.release()]);
    expect(await names()).toEqual([]);
  });

  it('locks in the database of its URL', async () => {
    const lock = create({ redis: `${redis.url}/5` });
    const held = await lock.acquireFree(['a', 'b']);
    const second = await lock.acquireFree(['b', 'c']);
    expect([...second.keys]).toEqual(['c']);
    expect(await redis.with((client) => client.dbsize())).toBe(0);
    await Promise.all([held.release(), second.release()]);
    await lock.close();
  });

  it("locks by a host's client, however that is set", async () => {
    const host = new Redis(redis.url, { lazyConnect: true, keyPrefix: 'shop:' });
    const [lock, other] = [create({ redis: host }), create()];
    const held = await lock.acquireFree(['a', 'b']);
    expect(held.outcome).toBe('held');
    expect([...(await other.acquireFree(['b', 'c'])).keys]).toEqual(['c']);
    await held.release();
    host.disconnect();
  });

  it('takes and frees more keys than one call of a script can', async () => {
    const lock = create();
    const keys = Array.from({ length: 9_000 }, (_, index) => `lock:order:${index}`);
    const held = await lock.acquireFree(keys);
    expect(held).toMatchObject({ outcome: 'held', keys: new Set(keys) });
    expect((await lock.acquireFree(keys.slice(-2))).outcome).toBe('contended');
    await held.release();
    expect(await redis.with((client) => client.dbsize())).toBe(0);
    await lock.close();
  });

  it('tells of a Redis that refuses, and goes on without a lock', async () => {
    const lock = create();
    await (await lock.acquireOne('warm-up')).release();
    await redis.with((client) => client.config('SET', 'maxmemory', '1'));
    const held = await lock.acquireFree(['lock:order:1']);
    expect(held.outcome).toBe('degraded');
    expect(errors.map(String).join()).toMatch('OOM');
    await redis.with((client) => client.config('SET', 'maxmemory', '0'));
    await lock.close();
  });

  it('does not take a key that is somebody else’s for an error', async () => {
    const lock = create({ waitMs: 30 });
    const held = await lock.acquireOne('lock:order:1');
    await lock.acquireOne('lock:order:1');
    await lock.acquireFree(['lock:order:1', 'lock:order:2']);
    expect(errors).toEqual([]);
    await held.release();
    await lock.close();
  });
});
