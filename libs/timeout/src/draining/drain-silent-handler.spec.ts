import type { EventEmitter } from 'node:events';
import { until } from '../../../../test/support/until';
import type { DueDeadline } from '../deadlines/deadline-handler';
import { Drain } from './drain';
import { drainDefaults } from './drain-options';
import type { TimeoutTelemetry } from '../telemetry';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import { Gate } from '../testing/gate';
import { standStillUntilGone } from '../testing/stand-still';
import type { Transaction } from '../database/transaction';

const KIND = 'payment';
/** Passes when a test says so, and not while this machine stands still. */
const LIMIT_MS = 3_600_000;
const NOTHING = { found: 0, changed: 0, lost: 0, putBack: 0, failed: 0 };

describe('Drain, when its handler never answers', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const silent = subject(17);
  const has = (due: readonly DueDeadline[]) => due.some(({ subjectId }) => subjectId === silent);
  const told: string[] = [];
  beforeEach(() => void (told.length = 0));
  /** The limit of the answer under way passes. */
  let lapse: () => void;
  beforeEach(() => {
    const { setTimeout } = globalThis;
    const watched = (run: () => void, ms?: number): NodeJS.Timeout => {
      if (ms === LIMIT_MS) lapse = run;
      return setTimeout(run, ms);
    };
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(watched);
  });
  afterEach(() => jest.restoreAllMocks());
  const silence = (): Promise<never> => {
    lapse();
    return new Promise(() => undefined);
  };
  const draining = (before: (due: readonly DueDeadline[], tx: Transaction) => Promise<unknown>) => {
    const telemetry: Partial<TimeoutTelemetry> = {
      batchFailed: (_, size, error) => void told.push(`${size}: ${String(error)}`),
      handlerFails: (_, error) => void told.push(`all: ${String(error)}`),
    };
    const parts = {
      ...drainParts(store.dataSource, KIND, telemetry),
      // What is put aside is not due again, however long it takes.
      clock: { nowMs: () => Date.now() + LIMIT_MS, freshen: async () => undefined },
    };
    const options = { ...drainDefaults, drainers: 1, answerLimitMs: LIMIT_MS };
    return new Drain(KIND, new Effects(1_000, before), parts, options);
  };
  /**
   * Resolves once Postgres has ended the session of `tx`, as it does where one stands still: no sooner than
   * any session is ended, as an answer within that time is believed.
   */
  const standStill = async (tx: Transaction): Promise<void> => {
    const [row] = await tx.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await tx.rows(`SET LOCAL idle_in_transaction_session_timeout = '110ms'`);
    await until('the session has ended', async () => {
      const sessions = await store.rows('SELECT FROM pg_stat_activity WHERE pid = $1', [row?.pid]);
      return sessions.length === 0;
    });
  };
  const effects = () => store.rows<{ subject_id: string }>('SELECT subject_id FROM effects');

  it('listens to the connection of a batch for as long as that is under way', async () => {
    const listening: number[] = [];
    const one = draining(async (_, tx) => {
      const client = (await tx.manager.queryRunner?.connect()) as { connection: EventEmitter };
      listening.push(client.connection.listenerCount('errorMessage'));
    });
    for (let round = 0; round < 5; round++) {
      await store.add(KIND, [-1_000]);
      await one.run('timer');
    }
    // The rounds share a connection: one follows the other.
    expect(listening).toEqual(Array(5).fill(listening[0]));
  });

  it('goes on without the one that it is silent about', async () => {
    await store.add(KIND, Array<number>(40).fill(-1_000));
    const one = draining(async (due) => {
      if (has(due)) await silence();
    });
    expect(await one.run('timer')).toEqual({ ...NOTHING, found: 39, changed: 39, failed: 1 });
    expect(told).toEqual([
      `40: Error: The handler of "payment" has not answered within ${LIMIT_MS} ms, for 40`,
      `1: Error: The handler of "payment" has not answered within ${LIMIT_MS} ms, for 1`,
    ]);
    expect(await effects()).toHaveLength(39);
    expect(await store.deadlines()).toMatchObject([{ subject_id: silent, failures: 1 }]);
  });

  it.each(['rows', 'manager'] as const)('changes nothing by a late answer (%s)', async (by) => {
    await store.add(KIND, Array<number>(18).fill(-1));
    const gate = new Gate();
    const late: Promise<unknown>[] = [];
    const one = draining(async (due, tx) => {
      const { manager } = tx;
      if (!has(due)) return;
      const write = async () => {
        await gate.pass();
        const sql = 'INSERT INTO effects VALUES ($1, $2)';
        await (by === 'rows' ? tx.rows(sql, [silent, by]) : manager.query(sql, [silent, by]));
      };
      late.push(write());
      lapse();
      await late.at(-1);
    });
    expect(await one.run('timer')).toMatchObject({ changed: 17, failed: 1 });
    gate.open();
    const settled = await Promise.allSettled(late);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect((await effects()).map(({ subject_id: id }) => id)).not.toContain(silent);
    expect(await store.deadlines()).toMatchObject([{ subject_id: silent, failures: 1 }]);
  });

  it('hears of it also where Postgres has ended the transaction that stood still', async () => {
    await store.add(KIND, [-1, -1]);
    const one = draining(async (_, tx) => {
      await standStill(tx);
      await new Promise(() => undefined);
    });
    expect(await one.run('timer')).toEqual({ ...NOTHING, failed: 2 });
    expect(told).toHaveLength(3);
  });

  describe('before its answer is late', () => {
    const STOOD_STILL =
      'Error: The handler of "payment" has made no statement for so long that Postgres has ended its transaction';

    it.each([
      ['throws', () => Promise.reject(new Error('their API')), ': Error: their API'],
      ['returns', () => Promise.resolve(), ''],
      ['goes on', (tx: Transaction) => tx.rows('SELECT 1'), ': QueryFailedError: .*'],
    ])('finds the one for which it stands still and then %s', async (_, then, said) => {
      await store.add(KIND, Array<number>(40).fill(-1_000));
      const one = draining(async (due, tx) => {
        if (!has(due)) return;
        await standStill(tx);
        await then(tx);
      });
      expect(await one.run('timer')).toEqual({ ...NOTHING, found: 39, changed: 39, failed: 1 });
      expect(told).toEqual([
        expect.stringMatching(new RegExp(`^40: ${STOOD_STILL}, for 40(${said})?$`)),
        expect.stringMatching(new RegExp(`^1: ${STOOD_STILL}, for 1(${said})?$`)),
      ]);
      expect(await effects()).toHaveLength(39);
      expect(await store.deadlines()).toMatchObject([{ subject_id: silent, failures: 1 }]);
    });

    it('finds the one for which it stands still, and never answers', async () => {
      await store.add(KIND, Array<number>(40).fill(-1_000));
      const one = draining(async (due, tx) => {
        if (!has(due)) return;
        await standStill(tx);
        await new Promise(() => undefined);
      });
      expect(await one.run('timer')).toEqual({ ...NOTHING, found: 39, changed: 39, failed: 1 });
      expect(told).toEqual([`40: ${STOOD_STILL}, for 40`, `1: ${STOOD_STILL}, for 1`]);
      expect(await store.deadlines()).toMatchObject([{ subject_id: silent, failures: 1 }]);
    });

    it('finds it also where several processes take it from each other', async () => {
      await store.add(KIND, Array<number>(40).fill(-1_000));
      const processes = Array.from({ length: 3 }, () =>
        draining(async (due, tx) => {
          if (!has(due)) return;
          await standStill(tx);
          await new Promise(() => undefined);
        }),
      );
      for (let round = 0; (await effects()).length < 39 && round < 10; round++) {
        await Promise.all(processes.map((one) => one.run('timer')));
      }
      expect(await effects()).toHaveLength(39);
      expect(await store.deadlines()).toMatchObject([{ subject_id: silent, failures: 1 }]);
    });

    it('finds the one for which the whole process stands still', async () => {
      await store.add(KIND, Array<number>(40).fill(-1_000));
      const one = draining(async (due, tx) => {
        if (!has(due)) return;
        const [row] = await tx.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        // No limit of ours is shorter than what counts as standing still.
        await tx.rows(`SET LOCAL idle_in_transaction_session_timeout = '150ms'`);
        standStillUntilGone(store.dataSource, row?.pid ?? 0);
        throw new Error('counted');
      });
      expect(await one.run('timer')).toEqual({ ...NOTHING, found: 39, changed: 39, failed: 1 });
      expect(told).toHaveLength(2);
      expect(told[1]).toBe(`1: ${STOOD_STILL}, for 1: Error: counted`);
    });

    it('stops the kind where it stands still for all', async () => {
      await store.add(KIND, Array<number>(10).fill(-1_000));
      const one = draining(async (_, tx) => {
        await standStill(tx);
        throw new Error('their API');
      });
      await one.run('timer');
      expect(one.standsStill).toBe(true);
      expect(told.at(0)).toContain(`10: ${STOOD_STILL}, for 10`);
      expect(told.join()).toContain(`all: ${STOOD_STILL}, for 1`);
      expect(await effects()).toEqual([]);
    });
  });
});
