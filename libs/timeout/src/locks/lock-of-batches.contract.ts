import type { Lock } from '../lock';
import { pause } from '../pause';
import { keysOf, type LockWish } from '../testing/lock-wish';

/** Keys of a large batch. */
const LARGE = 1_000;

/** What a lock that excludes does with many keys, which it may hold otherwise than few. */
export function describeLockOfBatches(name: string, create: (wish?: LockWish) => Lock): void {
  const opened: Lock[] = [];
  const open = (wish?: LockWish): Lock => {
    const lock = create(wish);
    opened.push(lock);
    return lock;
  };

  describe(`${name}: the contract of a lock that holds batches`, () => {
    afterEach(() => Promise.all(opened.splice(0).map((lock) => lock.close())));

    it('keeps each of a thousand keys from everybody, and is kept from them', async () => {
      const keys = keysOf(LARGE);
      const [lock, other] = [open(), open({ waitMs: 60 })];
      const [first, last] = [keys[0] as string, keys.at(-1) as string];
      const held = await lock.acquireFree(keys);
      expect(held).toMatchObject({ outcome: 'held', keys: new Set(keys) });
      expect((await other.acquireOne(last)).outcome).toBe('contended');
      for (const some of [keysOf(2), keysOf(LARGE)]) {
        const others = await other.acquireFree([...some, first, last]);
        expect([others.outcome, others.keys]).toEqual(['contended', new Set(some)]);
        expect(new Set(others.busyForMs?.keys())).toEqual(new Set([first, last])); // tag by tag
        await others.release();
      }
      await held.release();
      const one = await other.acquireOne(last);
      expect(one.outcome).toBe('held');
      const rest = await lock.acquireFree(keys);
      expect([rest.outcome, rest.keys]).toEqual(['contended', new Set(keys.slice(0, -1))]);
      await Promise.all([one.release(), rest.release()]);
      expect((await other.acquireFree(keys)).outcome).toBe('held');
    });

    it('holds as many batches at once as are asked for', async () => {
      const batches = Array.from({ length: 20 }, () => keysOf(LARGE));
      const held = await Promise.all(batches.map((keys) => open().acquireFree(keys)));
      expect(held.map(({ outcome }) => outcome)).toEqual(batches.map(() => 'held'));
      const other = open();
      for (const keys of batches) expect((await other.acquireFree(keys)).keys.size).toBe(0);
      await Promise.all(held.map((each) => each.release()));
      expect((await other.acquireFree(batches.flat())).outcome).toBe('held');
    });

    it('extends a batch, and frees one whose holder never came back', async () => {
      const [kept, lost] = [keysOf(LARGE), keysOf(LARGE)];
      const held = await open({ ttlMs: 3_000 }).acquireFree(kept);
      const late = await open({ ttlMs: 3_000, extendForMs: 0 }).acquireFree(lost);
      const next = open();
      let free = await next.acquireFree(lost);
      while (free.outcome === 'contended') {
        await free.release(); // behind several tags, those of some may be free before the others'
        await pause(20);
        free = await next.acquireFree(lost);
      }
      expect([free.outcome, free.keys.size]).toEqual(['held', LARGE]);
      await late.release();
      const third = open();
      expect((await third.acquireFree(lost)).keys.size).toBe(0);
      expect((await third.acquireFree(kept)).keys.size).toBe(0);
      await Promise.all([held.release(), free.release()]);
    });
  });
}
