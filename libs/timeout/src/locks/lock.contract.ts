import { timed } from '../testing/awake-time';
import type { Held, Lock } from '../lock';
import { pause } from '../pause';
import { extendOften } from '../testing/extend-often';
import { keysOf, type LockWish } from '../testing/lock-wish';
import { describeLockOfBatches } from './lock-of-batches.contract';

const HELD_LIMIT_MS = 20_000;

/** What can happen to the place where a lock keeps its keys. */
export interface LockStore {
  kill(): Promise<void>;
  start(): Promise<void>;
  /** It accepts connections and answers nothing. */
  freeze(): void;
  thaw(): void;
  connections(): Promise<number>;
}

export interface LockUnderTest {
  /** A lock as a process of its own would have it. */
  create(wish?: LockWish): Lock;
  /** `false`: it excludes nobody (a no-op); exclusion is not among its promises. */
  readonly excludes: boolean;
  /** The store, to be tampered with; absent when the lock has none. */
  readonly store?: () => LockStore;
  /** How soon the product takes the store's silence for its absence; a call may last twice as long. */
  readonly callTimeoutMs?: number;
}

/** What every implementation of `Lock` does. Call it in the implementation's spec. */
export function describeLock(name: string, subject: LockUnderTest): void {
  const opened: Lock[] = [];
  const open = (wish?: LockWish): Lock => {
    const lock = subject.create(wish);
    opened.push(lock);
    return lock;
  };
  /** As the product has it: a silence of the store is what these tests are about. */
  const openImpatient = (wish?: LockWish): Lock =>
    open({ callTimeoutMs: subject.callTimeoutMs as number, ...wish });
  /** Held by somebody who never comes back, for a short time: as short as this machine can. */
  const abandoned = async (key: string): Promise<Held> => {
    for (let ttlMs = 50; ; ttlMs *= 3) {
      const held = await open({ ttlMs, extendForMs: 0 }).acquireOne(key);
      if (held.outcome === 'held') return held;
      // Its time was over before it was known.
      await held.release();
    }
  };
  /** Only of a lock that excludes. */
  const excluding = (promise: string, test: () => Promise<void>): void => {
    if (subject.excludes) it(promise, test);
  };
  /** Only of a lock with a store, which may be tampered with. */
  const stored = (promise: string, test: (store: LockStore) => Promise<void>): void => {
    const { store } = subject;
    if (store) it(promise, () => test(store()));
  };

  describe(`${name}: the contract of every lock`, () => {
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((lock) => lock.close()));
    });

    it('holds all keys when all are free', async () => {
      const keys = keysOf(3);
      const held = await open().acquireFree([...keys, keys[0] as string]);
      expect(held.outcome).toBe('held');
      expect([...held.keys].sort()).toEqual([...keys].sort());
      await held.release();
    });

    it('holds nothing when asked for nothing', async () => {
      const held = await open().acquireFree([]);
      expect(held).toMatchObject({ outcome: 'held', keys: new Set() });
      await held.release();
    });

    it('gives keys back, so that another takes them at once', async () => {
      const keys = keysOf(2);
      const [one, other] = [open(), open()];
      await (await one.acquireFree(keys)).release();
      const held = await other.acquireFree(keys);
      expect(held.outcome).toBe('held');
      await held.release();
    });

    it('releases twice without complaint', async () => {
      const held = await open().acquireOne(keysOf(1)[0] as string);
      await held.release();
      await expect(held.release()).resolves.toBeUndefined();
    });

    it('closes twice', async () => {
      const lock = open();
      await lock.close();
      await expect(lock.close()).resolves.toBeUndefined();
    });

    excluding('lets one of two have a batch', async () => {
      const keys = keysOf(5);
      const held = await Promise.all([open().acquireFree(keys), open().acquireFree(keys)]);
      // Over several hash tags each may have a part of it, and both are told so.
      expect(held.map(({ outcome }) => outcome)).toContain('contended');
      expect(held.reduce((sum, { keys: got }) => sum + got.size, 0)).toBe(keys.length);
      await Promise.all(held.map((each) => each.release()));
    });

    excluding('leaves keys that are held to their holder and takes the rest', async () => {
      const keys = keysOf(5);
      const [one, other] = [open(), open()];
      const first = await one.acquireFree(keys.slice(0, 2));
      const second = await other.acquireFree(keys);
      expect(second.outcome).toBe('contended');
      expect([...second.keys].sort()).toEqual(keys.slice(2).sort());
      await second.release();
      const third = await other.acquireFree(keys.slice(0, 2));
      expect(third).toMatchObject({ outcome: 'contended', keys: new Set() });
      await first.release();
    });

    excluding('waits for one key until its holder is done', async () => {
      const key = keysOf(1)[0] as string;
      const first = await open().acquireOne(key);
      const second = open({ waitMs: 20_000 }).acquireOne(key);
      await first.release();
      const held = await second;
      expect(held).toMatchObject({ outcome: 'held', keys: new Set([key]) });
      await held.release();
    });

    excluding('stops waiting for one key after a while', async () => {
      const key = keysOf(1)[0] as string;
      const first = await open().acquireOne(key);
      const second = await open({ waitMs: 60 }).acquireOne(key);
      expect(second).toMatchObject({ outcome: 'contended', keys: new Set() });
      await second.release();
      await first.release();
    });

    excluding('frees a key whose holder never came back', async () => {
      const key = keysOf(1)[0] as string;
      await abandoned(key);
      const second = await open({ waitMs: 20_000 }).acquireOne(key);
      expect(second.outcome).toBe('held');
      await second.release();
    });

    excluding('keeps what is not given back, also beyond its time', async () => {
      const keys = keysOf(3);
      // Long enough for a machine that stands still to extend it all the same.
      const ttlMs = 60_000;
      const often = extendOften(ttlMs);
      const first = await open({ ttlMs }).acquireFree(keys);
      const other = open({ ttlMs, extendForMs: 0 });
      // For how long they are held begins anew: they are kept for longer than they were taken for.
      for (let [heldForMs, beforeMs] = [0, 0]; heldForMs >= beforeMs; await pause(20)) {
        const { outcome, busyForMs } = await other.acquireFree(keys);
        expect(outcome).toBe('contended');
        beforeMs = heldForMs;
        heldForMs = busyForMs?.get(keys[1] as string) as number;
      }
      expect(often).toHaveBeenCalledWith(expect.anything(), ttlMs / 3);
      often.mockRestore();
      await first.release();
      const third = await open().acquireFree(keys);
      expect(third.outcome).toBe('held');
      await third.release();
    });

    excluding('says for how long those keys are held that are somebody else’s', async () => {
      const [mine, theirs] = keysOf(2) as [string, string];
      const options = { ttlMs: 50_000, extendForMs: 0 };
      const held = await open(options).acquireOne(theirs);
      const waiting = await open({ ...options, waitMs: 100 }).acquireOne(theirs);
      expect(waiting.outcome).toBe('contended');
      const batch = await open(options).acquireFree([mine, theirs]);
      expect([...(batch.busyForMs?.keys() ?? [])]).toEqual([theirs]);
      expect(batch.busyForMs?.get(theirs)).toBeGreaterThanOrEqual(95);
      expect(batch.busyForMs?.get(theirs)).toBeLessThan(40_000);
      await Promise.all([held.release(), batch.release()]);
    });

    excluding('does not give back what somebody else has taken meanwhile', async () => {
      const key = keysOf(1)[0] as string;
      const late = await abandoned(key);
      const next = await open({ waitMs: 20_000 }).acquireOne(key);
      expect(next.outcome).toBe('held');
      await expect(late.release()).resolves.toBeUndefined();
      const third = await open().acquireFree([key]);
      expect(third.outcome).toBe('contended');
      await next.release();
    });

    excluding('calls a hold that ends before it begins no hold', async () => {
      const keys = keysOf(2);
      const held = await open({ ttlMs: 1 }).acquireFree(keys);
      expect(held).toMatchObject({ outcome: 'degraded', keys: new Set(keys) });
      await expect(held.release()).resolves.toBeUndefined();
    });

    stored(
      'goes on without a lock when the store is gone, and locks when it is back',
      async (store) => {
        const keys = keysOf(3);
        const lock = openImpatient();
        await (await lock.acquireFree(keys)).release();
        await store.kill();
        await expectDegraded(lock, keys);
        await store.start();
        const held = await untilHeld(lock, keys);
        await held.release();
      },
    );

    stored('goes on without a lock when the store was never there', async (store) => {
      await store.kill();
      const lock = openImpatient();
      await expectDegraded(lock, keysOf(2));
      await lock.close();
      await store.start();
    });

    stored(
      'goes on without a lock when the store hangs, and slows only the first',
      async (store) => {
        const keys = keysOf(3);
        const lock = openImpatient({ shortCircuitMs: 60_000 });
        const recovering = openImpatient();
        const before = await untilHeld(recovering, keys);
        store.freeze();
        await Promise.all([expectDegraded(lock, keys), expectDegraded(recovering, keys)]);
        const { tookMs } = await timed(async () => {
          for (let call = 0; call < 100; call++) await lock.acquireOne(keys[0] as string);
        });
        expect(tookMs).toBeLessThan(100);
        await before.release();
        store.thaw();
        await (await untilHeld(recovering, keys)).release();
      },
    );

    stored('gives back a lock that was granted after it had given up', async (store) => {
      const [key] = keysOf(1) as [string];
      // Longer than anybody waits here: only given back is it free.
      const lock = openImpatient({ ttlMs: 60_000, extendForMs: 0 });
      await (await untilHeld(lock, keysOf(1))).release();
      store.freeze();
      await expectDegraded(lock, [key]);
      store.thaw();
      await (await untilHeld(open(), [key])).release();
    });

    stored('leaves no connection behind', async (store) => {
      const before = await store.connections();
      const lock = subject.create();
      await (await lock.acquireFree(keysOf(2))).release();
      await lock.close();
      expect(await store.connections()).toBe(before);
    });

    async function expectDegraded(lock: Lock, keys: readonly string[]): Promise<void> {
      const { result: held, tookMs } = await timed(() => lock.acquireFree(keys));
      expect(tookMs).toBeLessThan(2 * (subject.callTimeoutMs as number));
      expect(held).toMatchObject({ outcome: 'degraded', keys: new Set(keys) });
      await expect(held.release()).resolves.toBeUndefined();
    }
  });
  if (subject.excludes) describeLockOfBatches(name, (wish) => subject.create(wish));
}

/** Asks again and again: how soon a store that is back is used is not part of the contract. */
async function untilHeld(lock: Lock, keys: readonly string[]): Promise<Held> {
  const giveUpAt = performance.now() + HELD_LIMIT_MS;
  for (;;) {
    const held = await lock.acquireFree(keys);
    if (held.outcome === 'held') return held;
    await held.release();
    if (performance.now() > giveUpAt) throw new Error(`still ${held.outcome}`);
    await pause(10);
  }
}
