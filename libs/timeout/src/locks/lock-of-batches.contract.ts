import { randomUUID } from 'node:crypto';
import type { Held, Lock, LockOfIds } from '../lock';
import { pause } from '../pause';
import { extendOften } from '../testing/extend-often';
import { keysOf, type LockWish } from '../testing/lock-wish';
import { Uuids } from '../uuids';

/** Keys of a large batch. */
const LARGE = 1_000;
const PREFIX = 'lock:order:';

/** Both ways to ask for what is free of many keys. */
const WAYS: Readonly<Record<string, (lock: Lock, keys: readonly string[]) => Promise<Held>>> = {
  'by their names': (lock, keys) => lock.acquireFree(keys),
  'by a prefix and ids': (lock, keys) => {
    const ids = Uuids.of(keys.map((key) => key.slice(PREFIX.length)));
    return (lock as LockOfIds).acquireFreeOf(PREFIX, ids);
  },
};

/** What a lock that excludes does with many keys, which it may hold otherwise than few. */
export function describeLockOfBatches(name: string, create: (wish?: LockWish) => Lock): void {
  const opened: Lock[] = [];
  const open = (wish?: LockWish): Lock => {
    const lock = create(wish);
    opened.push(lock);
    return lock;
  };
  /** Asks until all of them are held: behind several tags, those of some may be free before the others'. */
  const untilHeld = async (ask: () => Promise<Held>): Promise<Held> => {
    for (;;) {
      const held = await ask();
      if (held.outcome === 'held') return held;
      await held.release();
      await pause(20);
    }
  };

  describe.each(Object.entries(WAYS))(`${name}: a batch locked %s`, (_, acquire) => {
    afterEach(() => Promise.all(opened.splice(0).map((lock) => lock.close())));

    it('keeps each of a thousand keys from everybody, and is kept from them', async () => {
      const keys = keysOf(LARGE);
      const [lock, other] = [open(), open({ waitMs: 60 })];
      const [first, last] = [keys[0] as string, keys.at(-1) as string];
      const held = await acquire(lock, keys);
      expect(held).toMatchObject({ outcome: 'held', keys: new Set(keys) });
      expect((await other.acquireOne(last)).outcome).toBe('contended');
      for (const some of [keysOf(2), keysOf(LARGE)]) {
        const others = await acquire(other, [...some, first, last]);
        expect([others.outcome, others.keys]).toEqual(['contended', new Set(some)]);
        // Tag by tag.
        expect(new Set(others.busyForMs?.keys())).toEqual(new Set([first, last]));
        await others.release();
      }
      await held.release();
      const one = await other.acquireOne(last);
      expect(one.outcome).toBe('held');
      const rest = await acquire(lock, keys);
      expect([rest.outcome, rest.keys]).toEqual(['contended', new Set(keys.slice(0, -1))]);
      await Promise.all([one.release(), rest.release()]);
      expect((await acquire(other, keys)).outcome).toBe('held');
    });

    it('keeps one key from a batch whose ids lie among its own, and none where they do not', async () => {
      // As ids are that were made one after the other: by their first bytes nobody can tell them apart.
      const [at, made] = [
        randomUUID().slice(0, 23),
        Array.from({ length: 3 * LARGE }, (_, n) => n),
      ];
      const idAt = (n: number): string => `${at}-${n.toString(16).padStart(12, '0')}`;
      const close = made.map((n) => `${PREFIX}${idAt(n)}`);
      const [lock, other] = [open(), open()];
      const held = await acquire(
        lock,
        close.filter((_, n) => n % 3 === 0),
      );
      const among = await acquire(
        other,
        close.filter((_, n) => n % 3 === 1 || n === 0),
      );
      expect([held.outcome, among.outcome]).toEqual(['held', 'contended']);
      expect([...(among.busyForMs?.keys() ?? [])]).toEqual([close[0]]);
      const [later, first] = [keysOf(LARGE), close[2] as string];
      const apart = await acquire(open(), [...later.slice(1), first]);
      expect([apart.outcome, apart.keys.size]).toEqual(['held', LARGE]);
      const without = await acquire(other, [...keysOf(LARGE), first]);
      expect([without.keys.size, without.keys.has(first)]).toEqual([LARGE, false]);
      await Promise.all([held, among, apart, without].map((each) => each.release()));
    });

    it('holds as many batches at once as are asked for', async () => {
      const batches = Array.from({ length: 20 }, () => keysOf(LARGE));
      const held = await Promise.all(batches.map((keys) => acquire(open(), keys)));
      expect(held.map(({ outcome }) => outcome)).toEqual(batches.map(() => 'held'));
      const other = open();
      for (const keys of batches) expect((await acquire(other, keys)).keys.size).toBe(0);
      // One that is busy keeps nobody from the rest.
      const more = keysOf(LARGE);
      const busy = await other.acquireOne(more[3] as string);
      const rest = await acquire(other, more);
      expect([rest.outcome, rest.keys.size]).toEqual(['contended', LARGE - 1]);
      await Promise.all([busy.release(), rest.release()]);
      await Promise.all(held.map((each) => each.release()));
      expect((await acquire(other, batches.flat())).outcome).toBe('held');
    });

    it('is extended, as single keys are, and free where its holder never came back', async () => {
      const [kept, lost, single] = [keysOf(LARGE), keysOf(LARGE), keysOf(2)];
      const [keptOne, lostOne] = single as [string, string];
      const dying = { ttlMs: 3_000, extendForMs: 0 };
      // Longer than a machine stands still; that they are extended shows in how long they are held.
      const ttlMs = 60_000;
      const often = extendOften(ttlMs);
      const held = await acquire(open({ ttlMs }), kept);
      const one = await open({ ttlMs }).acquireOne(keptOne);
      const acquiredMs = performance.now();
      const late = await acquire(open(dying), lost);
      const lateOne = await open(dying).acquireOne(lostOne);
      const next = open();
      const free = await untilHeld(() => acquire(next, [...lost, lostOne]));
      expect(free.keys.size).toBe(LARGE + 1);
      await Promise.all([late.release(), lateOne.release()]);
      const third = open();
      expect((await acquire(third, [...lost, lostOne])).keys.size).toBe(0);
      const keptForMs = performance.now() - acquiredMs;
      const others = await acquire(third, [kept[0] as string, keptOne]);
      expect(others.keys.size).toBe(0);
      for (const heldForMs of others.busyForMs?.values() ?? [])
        expect(heldForMs).toBeLessThan(keptForMs);
      expect(others.busyForMs?.size).toBeGreaterThan(0);
      often.mockRestore();
      expect((await acquire(third, kept)).keys.size).toBe(0);
      const rest = await acquire(third, [...keysOf(LARGE), keptOne]);
      expect([rest.outcome, rest.keys.size]).toEqual(['contended', LARGE]);
      await Promise.all([held, one, free, rest].map((each) => each.release()));
    });
  });
}
