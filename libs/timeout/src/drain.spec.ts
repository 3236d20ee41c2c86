import { Alarms } from './alarms';
import type { DeadlineHandler, DueDeadline } from './deadline-handler';
import { Drain, drainDefaults, type DrainOptions } from './drain';
import type { Held, Lock } from './lock';
import { NoopLock } from './locks/noop.lock';
import { silentTelemetry, type TimeoutTelemetry } from './telemetry';
import { DeadlineStore, subject } from './testing/deadline-store';
import { TimerStoreHealth } from './timer-store-health';
import type { TimerDriver } from './timer-driver';
import type { Transaction } from './transaction';

const KIND = 'payment';
const NOTHING = { found: 0, changed: 0, lost: 0, putBack: 0, failed: 0 };

const deafDriver: TimerDriver = {
  name: 'deaf',
  start: async () => undefined,
  stop: async () => undefined,
  arm: async () => undefined,
  disarm: async () => undefined,
  survey: async () => ({ generation: 'one', alarms: async function* () {} }),
};

describe('Drain', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const parts = (lock: Lock = new NoopLock(), telemetry: Partial<TimeoutTelemetry> = {}) => {
    const told = { ...silentTelemetry, ...telemetry };
    const { dataSource } = store;
    const clock = { nowMs: () => Date.now() };
    const options = { granularity: 100, horizonMs: 1_000, kinds: [KIND] };
    const alarms = new Alarms(dataSource, deafDriver, clock, new TimerStoreHealth(told), options);
    return { dataSource, lock, alarms, clock, telemetry: told };
  };

  /** Writes an effect for each subject, in the claiming transaction. */
  class Effects implements DeadlineHandler {
    readonly batches: string[][] = [];
    constructor(
      readonly maxBatch = 1_000,
      private readonly before: (due: readonly DueDeadline[]) => Promise<void> = async () =>
        undefined,
    ) {}

    lockKey(subjectId: string): string {
      return `lock:${subjectId}`;
    }

    async handle(due: readonly DueDeadline[], tx: Transaction, by: string) {
      const ids = due.map(({ subjectId }) => subjectId);
      this.batches.push(ids);
      await tx.rows('INSERT INTO effects SELECT unnest($1::uuid[]), $2', [ids, by]);
      await this.before(due);
      return { changed: due.length, lost: 0 };
    }
  }

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
    await drain(handler, parts(), { closers: 1 }).run('timer');
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
    const one: Drain = drain(new Effects(10, async () => void seen.push(one.isBursting)));
    await one.run('timer');
    expect(seen).toEqual([false, true, true]);
    expect(one.isBursting).toBe(false);
  });

  it('shares deadlines between drains that run at once', async () => {
    await store.add(KIND, Array<number>(200).fill(-1));
    const counts = await Promise.all([1, 2, 3].map(() => drain(new Effects(20)).run('sweep')));
    expect(counts.reduce((sum, { changed }) => sum + changed, 0)).toBe(200);
    expect(await effects()).toHaveLength(200);
  });

  it('undoes effects and claim together when a batch fails', async () => {
    await store.add(KIND, [-1]);
    const handler = new Effects(1, () => Promise.reject(new Error('no')));
    expect(await drain(handler).run('timer')).toEqual({ ...NOTHING, failed: 1 });
    expect(await effects()).toEqual([]);
    expect(await store.deadlines()).toMatchObject([{ subject_id: subject(0), failures: 1 }]);
  });

  describe('a poisoned subject', () => {
    const poison = subject(17);
    const poisoned = () =>
      new Effects(1_000, async (due) => {
        if (due.some(({ subjectId }) => subjectId === poison)) throw new Error('poison');
      });

    it('is found by splitting, and its neighbours go on', async () => {
      await store.add(KIND, Array<number>(40).fill(-1_000));
      const failed: number[] = [];
      const given = parts(new NoopLock(), { batchFailed: (_, size) => void failed.push(size) });
      const handler = poisoned();
      expect(await drain(handler, given).run('timer')).toMatchObject({ changed: 39, failed: 1 });
      expect((await effects()).map(({ subject_id: id }) => id)).not.toContain(poison);
      // Ever smaller, down to the one; far fewer tries than subjects.
      expect(failed).toEqual([...failed].sort((a, b) => b - a));
      expect(failed.at(-1)).toBe(1);
      expect(failed.length).toBeLessThan(10);
    });

    it('backs off, longer each time', async () => {
      await store.add(KIND, Array<number>(18).fill(-1));
      const one = drain(poisoned());
      for (const [failures, delayMs] of [
        [1, 1_000],
        [2, 2_000],
        [3, 4_000],
      ] as const) {
        await one.run('timer');
        const nowMs = (await store.now()).getTime();
        const [left] = await store.deadlines();
        expect(left).toMatchObject({ subject_id: poison, failures });
        const waitsMs = (left?.due_at.getTime() ?? 0) - nowMs;
        expect(waitsMs).toBeGreaterThan(delayMs - 900);
        expect(waitsMs).toBeLessThanOrEqual(delayMs + 50);
        await store.rows(`UPDATE deadlines SET due_at = now() - interval '1 second'`);
      }
    });

    it('is held with its error in the end', async () => {
      await store.add(KIND, Array<number>(18).fill(-1));
      const held: string[] = [];
      const deadlineHeld = (_: string, id: string) => void held.push(id);
      const one = drain(poisoned(), parts(new NoopLock(), { deadlineHeld }), { maxFailures: 3 });
      for (let round = 0; round < 3; round++) {
        await one.run('timer');
        await store.rows(`UPDATE deadlines SET due_at = now() - interval '1 second'`);
      }
      expect(await store.deadlines()).toEqual([]);
      expect(held).toEqual([poison]);
      expect(await store.rows('SELECT subject_id, failures, error FROM held_deadlines')).toEqual([
        { subject_id: poison, failures: 3, error: 'Error: poison' },
      ]);
      expect(await one.run('timer')).toEqual(NOTHING);
    });
  });

  it('is nobody’s poison when the database is away', async () => {
    await store.add(KIND, [-1]);
    const away = Object.assign(new Error('terminating connection'), { code: '57P01' });
    const one = drain(new Effects(1_000, () => Promise.reject(away)));
    await expect(one.run('timer')).rejects.toBe(away);
    expect(await store.deadlines()).toMatchObject([{ failures: 0 }]);
  });

  it('puts back what somebody else holds, and handles the rest', async () => {
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
    const counts = await drain(new Effects(), parts(lock)).run('timer');
    expect(counts).toEqual({ ...NOTHING, found: 3, changed: 2, putBack: 1 });
    const [back] = await store.deadlines();
    expect(back?.subject_id).toBe(subject(1));
    expect(back?.due_at.getTime()).toBeGreaterThan((await store.now()).getTime());
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
      parts(new NoopLock(), { failed }),
    );
    expect(await one.run('timer')).toMatchObject({ found: 1, changed: 1 });
    fail(new Error('the provider is away'));
    await one.idle();
    expect(failed).toHaveBeenCalledTimes(1);
    expect(await store.deadlines()).toEqual([]);
  });
});
