import type { DeadlineHandler, DueDeadline } from '../deadlines/deadline-handler';
import { Drain } from './drain';
import { drainDefaults, type DrainOptions } from './drain-options';
import type { Lock } from '../lock';
import { NoopLock } from '../locks/noop.lock';
import type { TimeoutTelemetry } from '../telemetry';
import type { Transaction } from '../database/transaction';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import { Gate } from '../testing/gate';

const KIND = 'payment';
const NOTHING = { found: 0, changed: 0, lost: 0, putBack: 0, failed: 0 };

describe('Drain, when handling fails', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());
  afterEach(() => jest.restoreAllMocks());

  const parts = (told: Partial<TimeoutTelemetry> & { lock?: Lock } = {}) =>
    drainParts(store.dataSource, KIND, told);
  /** One drainer: a second one may come when what has failed, or was put back, is due again already. */
  const drain = (handler: DeadlineHandler, given = parts(), options: Partial<DrainOptions> = {}) =>
    new Drain(KIND, handler, given, { ...drainDefaults, drainers: 1, ...options });
  const effects = () =>
    store.rows<{ subject_id: string }>('SELECT subject_id FROM effects ORDER BY subject_id');
  const makeDue = () => store.rows(`UPDATE deadlines SET due_at = now() - interval '1 second'`);

  describe('a poisoned subject', () => {
    const poison = subject(17);
    const poisoned = (said = 'poison') =>
      new Effects(1_000, async (due) => {
        if (due.some(({ subjectId }) => subjectId === poison)) throw new Error(said);
      });

    it('is found by splitting, and its neighbours go on', async () => {
      await store.add(KIND, Array<number>(40).fill(-1_000));
      const failed: number[] = [];
      const given = parts({ batchFailed: (_, size) => void failed.push(size) });
      const handler = poisoned();
      const one = drain(handler, given);
      expect(await one.run('timer')).toMatchObject({ found: 39, changed: 39, failed: 1 });
      expect(await effects()).toHaveLength(39);
      expect((await effects()).map(({ subject_id: id }) => id)).not.toContain(poison);
      // The whole batch, then the one; far fewer tries than subjects.
      expect(failed).toEqual([40, 1]);
      expect(handler.batches.length).toBeLessThan(20);
    });

    it('has its siblings’ late statements done once, whatever piece is handled by then', async () => {
      await store.add(KIND, Array<number>(18).fill(-1_000));
      const gates: Gate[] = [];
      const late: Promise<unknown>[] = [];
      const one = drain({
        maxBatch: 1_000,
        lockKey: () => undefined,
        handle: async (due, tx, by) => {
          const write = ({ subjectId }: DueDeadline) =>
            tx.rows('INSERT INTO effects VALUES ($1, $2)', [subjectId, by]);
          const siblings = due.filter(({ subjectId }) => subjectId !== poison);
          await Promise.all(siblings.map(write));
          if (siblings.length < due.length) {
            const gate = new Gate();
            gates.push(gate);
            late.push(...siblings.map((sibling) => gate.pass().then(() => write(sibling))));
            throw new Error('poison');
          }
          // What is late of the pieces that failed is sent now: in one that will be kept.
          for (const gate of gates.splice(0)) gate.open();
          await Promise.allSettled(late);
          return { changed: due.length, lost: 0 };
        },
      });
      expect(await one.run('timer')).toMatchObject({ changed: 17, failed: 1 });
      // Of the whole batch, and of a piece of it at least.
      expect(late.length).toBeGreaterThan(17);
      const ids = (await effects()).map(({ subject_id: id }) => id);
      expect(ids).toHaveLength(17);
      expect(new Set(ids).size).toBe(17);
    });

    it('backs off, longer each time', async () => {
      await store.add(KIND, Array<number>(18).fill(-1));
      const one = drain(poisoned());
      for (const [failures, delayMs] of [
        [1, 1_000],
        [2, 2_000],
        [3, 4_000],
      ] as const) {
        const beganMs = (await store.now()).getTime();
        await one.run('timer');
        const endedMs = (await store.now()).getTime();
        const [left] = await store.deadlines();
        expect(left).toMatchObject({ subject_id: poison, failures });
        const dueMs = left?.due_at.getTime() ?? 0;
        expect(dueMs).toBeGreaterThanOrEqual(beganMs + delayMs);
        expect(dueMs).toBeLessThanOrEqual(endedMs + delayMs);
        await makeDue();
      }
    });

    it.each([
      ['', 'poison', 'poison'],
      [', whatever is in it', 'poison of "\0"', 'poison of "\ufffd"'],
    ])('is held with its error in the end%s', async (_, said, kept) => {
      await store.add(KIND, Array<number>(18).fill(-1));
      const held: string[] = [];
      const deadlineHeld = (__: string, id: string) => void held.push(id);
      const one = drain(poisoned(said), parts({ deadlineHeld }), { maxFailures: 3 });
      // Held as others have succeeded since it began to fail: by its waits, of which none is waited for.
      jest.spyOn(performance, 'now').mockReturnValue(performance.now());
      for (let round = 0; round < 3; round++) {
        await one.run('timer');
        await makeDue();
      }
      expect(await store.deadlines()).toEqual([]);
      expect(held).toEqual([poison]);
      expect(await store.rows('SELECT subject_id, failures, error FROM held_deadlines')).toEqual([
        { subject_id: poison, failures: 3, error: `Error: ${kept}` },
      ]);
      expect(await one.run('timer')).toEqual(NOTHING);
    });
  });

  it.each([
    ['connect ECONNREFUSED 10.0.0.9:443', { code: 'ECONNREFUSED' }],
    ['write EPIPE', { code: 'EPIPE' }],
    ['SMTP: not connected', {}],
    ['timeout exceeded', {}],
  ])('is the subject’s whose own server is away: %s', async (said, code) => {
    const away = Object.assign(new Error(said), code);
    await store.add(KIND, Array<number>(40).fill(-1_000));
    const one = drain(
      new Effects(1_000, async (due) => {
        if (due.some(({ subjectId }) => subjectId === subject(17))) throw away;
      }),
    );
    expect(await one.run('timer')).toEqual({ ...NOTHING, found: 39, changed: 39, failed: 1 });
    expect(await store.deadlines()).toMatchObject([{ subject_id: subject(17), failures: 1 }]);
  });

  it('is nobody’s poison when the connection is lost', async () => {
    await store.add(KIND, [-1, -1]);
    const one = drain(
      new Effects(1_000, (_, tx) => tx.rows('SELECT pg_terminate_backend(pg_backend_pid())')),
    );
    await expect(one.run('timer')).rejects.toThrow();
    expect(await store.deadlines()).toMatchObject([{ failures: 0 }, { failures: 0 }]);
  });

  it('is nobody’s poison when no connection is to be had', async () => {
    await store.add(KIND, [-1]);
    const given = parts();
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const runner = store.dataSource.createQueryRunner();
    jest.spyOn(runner, 'startTransaction').mockRejectedValue(refused);
    jest.spyOn(store.dataSource, 'createQueryRunner').mockReturnValueOnce(runner);
    await expect(drain(new Effects(), given).run('timer')).rejects.toBe(refused);
    expect(await store.deadlines()).toMatchObject([{ failures: 0 }]);
  });

  it.each(['rows', 'manager'] as const)(
    'is nobody’s poison when the database is full, or away (%s)',
    async (by) => {
      await store.add(KIND, [-1]);
      const full = `DO $$ BEGIN RAISE 'No space left' USING ERRCODE = '53100'; END $$`;
      const away = 'SELECT pg_terminate_backend(pg_backend_pid())';
      for (const [sql, said] of [
        [full, /No space left/],
        [away, /terminat/],
      ] as const) {
        const fail = (_: unknown, tx: Transaction): Promise<unknown> =>
          by === 'rows' ? tx.rows(sql) : tx.manager.query(sql);
        await expect(drain(new Effects(1_000, fail)).run('timer')).rejects.toThrow(said);
      }
      expect(await store.deadlines()).toMatchObject([{ failures: 0 }]);
    },
  );

  describe('a statement that runs out of time', () => {
    /** More than two subjects in one statement are too many. */
    const slow = () =>
      new Effects(1_000, async (due, tx) => {
        if (due.length <= 2) return;
        await tx.rows(`SET LOCAL statement_timeout = '50ms'`);
        await tx.rows('SELECT pg_sleep(10)');
      });

    it('makes the batch smaller, until it fits', async () => {
      await store.add(KIND, Array<number>(40).fill(-1_000));
      expect(await drain(slow()).run('timer')).toEqual({ ...NOTHING, found: 40, changed: 40 });
      expect(await effects()).toHaveLength(40);
    });

    it('counts against a subject for which it fails alone', async () => {
      await store.add(KIND, [-1]);
      const canceled = Object.assign(new Error('canceling statement'), { code: '57014' });
      const handler = new Effects(1_000, () => Promise.reject(canceled));
      expect(await drain(handler).run('timer')).toEqual({ ...NOTHING, failed: 1 });
      expect(await store.deadlines()).toMatchObject([{ failures: 1 }]);
    });
  });

  it('gives up when not even one deadline can be claimed', async () => {
    await store.add(KIND, [-1]);
    await store.rows(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no claim' USING ERRCODE = '57014'; END $$`);
    await store.rows(
      'CREATE TRIGGER refuse BEFORE DELETE ON deadlines FOR EACH ROW EXECUTE FUNCTION refuse()',
    );
    try {
      await expect(drain(new Effects()).run('timer')).rejects.toThrow('no claim');
      expect(await store.deadlines()).toMatchObject([{ failures: 0 }]);
    } finally {
      await store.rows('DROP FUNCTION refuse() CASCADE');
    }
  });

  it('keeps count of the failures of a subject that is put back meanwhile', async () => {
    await store.add(KIND, [-1]);
    // A batch that is not full is the last one.
    const failing = new Effects(10, async (due) => {
      if (due.length > 0) throw new Error('no');
    });
    for (let failures = 1; failures <= 2; failures++) {
      await drain(failing).run('timer');
      await makeDue();
    }
    const release = async (): Promise<void> => undefined;
    const lock: Lock = Object.assign(new NoopLock(), {
      acquireFree: async () =>
        ({ keys: new Set<string>(), outcome: 'contended', release }) as const,
    });
    expect(await drain(failing, parts({ lock })).run('timer')).toMatchObject({ putBack: 1 });
    expect(await store.deadlines()).toMatchObject([{ failures: 2 }]);
    await makeDue();
    await drain(failing, parts(), { maxFailures: 3 }).run('timer');
    // Not held: nothing has ever succeeded, so the handler may well be to blame.
    expect(await store.deadlines()).toMatchObject([{ failures: 3 }]);
    expect(await store.rows('SELECT FROM held_deadlines')).toEqual([]);
  });
});
