import type { DueDeadline } from './deadline-handler';
import { Drain, drainDefaults } from './drain';
import type { TimeoutTelemetry } from './telemetry';
import { DeadlineStore, subject } from './testing/deadline-store';
import { drainParts, Effects } from './testing/drain-harness';
import { Gate } from './testing/gate';
import type { Transaction } from './transaction';

const KIND = 'payment';
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
  const draining = (before: (due: readonly DueDeadline[], tx: Transaction) => Promise<unknown>) => {
    const telemetry: Partial<TimeoutTelemetry> = {
      batchFailed: (_, size, error) => void told.push(`${size}: ${String(error)}`),
    };
    const parts = drainParts(store.dataSource, KIND, telemetry);
    const options = { ...drainDefaults, drainers: 1, answerLimitMs: 300 };
    return new Drain(KIND, new Effects(1_000, before), parts, options);
  };
  const effects = () => store.rows<{ subject_id: string }>('SELECT subject_id FROM effects');

  it('goes on without the one that it is silent about', async () => {
    await store.add(KIND, Array<number>(40).fill(-1_000));
    const one = draining((due) => (has(due) ? new Promise(() => undefined) : Promise.resolve()));
    expect(await one.run('timer')).toEqual({ ...NOTHING, found: 39, changed: 39, failed: 1 });
    expect(told).toEqual([
      '40: Error: The handler of "payment" has not answered within 300 ms, for 40',
      '1: Error: The handler of "payment" has not answered within 300 ms, for 1',
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
      await tx.rows(`SET LOCAL idle_in_transaction_session_timeout = '10ms'`);
      await new Promise(() => undefined);
    });
    expect(await one.run('timer')).toEqual({ ...NOTHING, failed: 2 });
    expect(told).toHaveLength(3);
  });
});
