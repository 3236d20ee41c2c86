import { until } from '../../../../test/support/until';
import type { DeadlineHandler } from '../deadlines/deadline-handler';
import { Drain } from './drain';
import { drainDefaults, type DrainOptions } from './drain-options';
import type { Held, Lock } from '../lock';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import { Gate } from '../testing/gate';
import { HandDriver } from '../testing/hand-driver';

const KIND = 'payment';
const NOTHING = { found: 0, changed: 0, lost: 0, putBack: 0, failed: 0 };

describe('Drain', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const parts = (lock?: Lock, driver?: HandDriver) =>
    drainParts(store.dataSource, KIND, { ...(lock && { lock }), ...(driver && { driver }) });

  const drain = (handler: DeadlineHandler, given = parts(), options: Partial<DrainOptions> = {}) =>
    new Drain(KIND, handler, given, { ...drainDefaults, ...options });

  const effects = () =>
    store.rows<{ subject_id: string; by: string }>('SELECT * FROM effects ORDER BY subject_id');

  it('handles what is due, once, and leaves the rest', async () => {
    await store.add(KIND, [-3_000, -2_000, 60_000]);
    const one = drain(new Effects());
    expect(await one.run('timer')).toEqual({ ...NOTHING, found: 2, changed: 2 });
    expect(await one.run('timer')).toEqual(NOTHING);
    expect((await effects()).map(({ subject_id: id }) => id)).toEqual([subject(0), subject(1)]);
    expect(await store.deadlines()).toMatchObject([{ subject_id: subject(2) }]);
  });

  it('leaves what is overdue by less than asked', async () => {
    await store.add(KIND, [-60_000, -10]);
    expect(await drain(new Effects()).run('sweep', 30_000)).toMatchObject({ found: 1 });
    expect(await effects()).toEqual([{ subject_id: subject(0), by: 'sweep' }]);
  });

  it('takes the oldest first', async () => {
    await store.add(KIND, [-1_000, -3_000, -2_000]);
    const handler = new Effects(1);
    await drain(handler, parts(), { drainers: 1 }).run('timer');
    expect(handler.batches.filter(({ length }) => length > 0)).toEqual([
      [subject(1)],
      [subject(2)],
      [subject(0)],
    ]);
  });

  it('goes on, batch after batch, until nothing is left', async () => {
    await store.add(KIND, Array<number>(57).fill(-1));
    const handler = new Effects(10);
    expect(await drain(handler).run('timer')).toMatchObject({ found: 57, changed: 57 });
    expect(Math.max(...handler.batches.map(({ length }) => length))).toBe(10);
    expect(await effects()).toHaveLength(57);
  });

  it('calls it a burst while more is due than one batch takes', async () => {
    await store.add(KIND, Array<number>(25).fill(-1));
    const seen: boolean[] = [];
    const handler = new Effects(10, async () => void seen.push(one.isBursting));
    const one: Drain = drain(handler, parts(), { drainers: 1 });
    await one.run('timer');
    expect(seen).toEqual([false, true, true]);
    expect(one.isBursting).toBe(false);
  });

  it('begins another batch while the first, which is full, is under way', async () => {
    await store.add(KIND, Array<number>(20).fill(-1));
    const gate = new Gate();
    const handler = new Effects(10, () => gate.pass());
    const round = drain(handler, parts(), { drainers: 2 }).run('timer');
    try {
      await until('two batches are under way', () => handler.batches.length === 2);
    } finally {
      gate.open();
    }
    expect(await round).toMatchObject({ found: 20, changed: 20 });
  });

  it('shares deadlines between drains that run at once', async () => {
    await store.add(KIND, Array<number>(200).fill(-1));
    const counts = await Promise.all([1, 2, 3].map(() => drain(new Effects(20)).run('sweep')));
    expect(counts.reduce((sum, { changed }) => sum + changed, 0)).toBe(200);
    expect(await effects()).toHaveLength(200);
  });

  it('undoes effects and claim together when a batch fails', async () => {
    await store.add(KIND, [-1]);
    const handler = new Effects(10, () => Promise.reject(new Error('no')));
    // One drainer, and a batch that is not full: nobody looks again when it is due again already.
    const one = drain(handler, parts(), { drainers: 1 });
    expect(await one.run('timer')).toEqual({ ...NOTHING, failed: 1 });
    expect(await effects()).toEqual([]);
    expect(await store.deadlines()).toMatchObject([{ subject_id: subject(0), failures: 1 }]);
  });

  it('puts back what somebody else holds, and handles the rest', async () => {
    const before = await store.now();
    await store.add(KIND, [-3, -2, -1]);
    const released = jest.fn(async () => undefined);
    const lock: Lock = {
      acquireFree: async (keys) => ({
        keys: new Set(keys.filter((key) => key !== `lock:${subject(1)}`)),
        outcome: 'contended',
        release: released,
      }),
      acquireOne: () => Promise.reject(new Error('batches wait for nobody')),
      close: async () => undefined,
    };
    const driver = new HandDriver();
    // One drainer: a second one may come when it is due again already.
    const counts = await drain(new Effects(), parts(lock, driver), { drainers: 1 }).run('timer');
    expect(counts).toEqual({ ...NOTHING, found: 3, changed: 2, putBack: 1 });
    const [back] = await store.deadlines();
    expect(back?.subject_id).toBe(subject(1));
    expect(back?.due_at.getTime()).toBeGreaterThan(before.getTime() + 50);
    // As its slot begins: nobody waits for a sweep.
    await until('what was put back is armed', () => driver.armed.length > 0);
    const inMs = (back?.due_at.getTime() ?? 0) - (driver.armed[0]?.at.getTime() ?? 0);
    expect(inMs).toBeGreaterThan(0);
    expect(inMs).toBeLessThanOrEqual(100);
    expect(released).toHaveBeenCalledTimes(1);
  });

  it('gives its locks back also when the batch fails', async () => {
    await store.add(KIND, [-1]);
    let open = 0;
    const hold = (keys: readonly string[]): Held => {
      open += 1;
      let held = true;
      return {
        keys: new Set(keys),
        outcome: 'held',
        release: async () => {
          if (held) open -= 1;
          held = false;
        },
      };
    };
    const lock: Lock = {
      acquireFree: async (keys) => hold(keys),
      acquireOne: async (key) => hold([key]),
      close: async () => undefined,
    };
    await drain(new Effects(1, () => Promise.reject(new Error('no'))), parts(lock)).run('timer');
    expect(open).toBe(0);
  });

  describe('rings that come while it is busy', () => {
    /** Holds the first batch until told to go on. */
    function gate() {
      let open = (): void => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      let entered = (): void => undefined;
      const inside = new Promise<void>((resolve) => (entered = resolve));
      let isFirst = true;
      const before = async (): Promise<void> => {
        if (!isFirst) return;
        isFirst = false;
        entered();
        await opened;
      };
      return { open: () => open(), inside, before };
    }

    it('share one more round', async () => {
      await store.add(KIND, [-1]);
      const { open, inside, before } = gate();
      const one = drain(new Effects(1_000, before));
      const first = one.run('timer');
      await inside;
      const [second, third] = [one.run('timer'), one.run('timer')];
      expect(second).toBe(third);
      open();
      expect(await first).toMatchObject({ found: 1 });
      expect(await second).toEqual(NOTHING);
    });

    it('are not held up by a waiting sweep that leaves fresh deadlines to them', async () => {
      await store.add(KIND, [-60_000]);
      const { open, inside, before } = gate();
      const one = drain(new Effects(1_000, before));
      const first = one.run('timer');
      await inside;
      const swept = one.run('sweep', 30_000);
      await store.rows(`INSERT INTO deadlines (kind, due_at, subject_id) VALUES ($1, now(), $2)`, [
        KIND,
        subject(9),
      ]);
      const rung = one.run('timer');
      open();
      await Promise.all([first, swept, rung]);
      expect(await store.deadlines()).toEqual([]);
      expect(await effects()).toContainEqual({ subject_id: subject(9), by: 'timer' });
    });
  });

  it('does not wait for what follows the commit, and tells when that fails', async () => {
    await store.add(KIND, [-1]);
    const failed = jest.fn();
    const handler = new Effects();
    let fail = (_: Error): void => undefined;
    const after = new Promise<void>((_, reject) => (fail = reject));
    const one = drain(
      Object.assign(handler, { afterCommit: () => after }),
      drainParts(store.dataSource, KIND, { failed }),
    );
    expect(await one.run('timer')).toMatchObject({ found: 1, changed: 1 });
    fail(new Error('the provider is away'));
    await one.idle();
    expect(failed).toHaveBeenCalledTimes(1);
    expect(await store.deadlines()).toEqual([]);
  });
});
