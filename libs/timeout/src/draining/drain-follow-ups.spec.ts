import { until } from '../../../../test/support/until';
import { type Attempted, AttemptQueue } from '../attempts';
import { insertDeadlines } from '../deadlines/deadlines';
import type {
  BatchResult,
  DeadlineHandler,
  DueDeadline,
  FollowUpJudge,
} from '../deadlines/deadline-handler';
import { Drain } from './drain';
import { drainDefaults } from './drain-options';
import type { TimeoutTelemetry } from '../telemetry';
import { DeadlineStore } from '../testing/deadline-store';
import { drainParts } from '../testing/drain-harness';
import type { Transaction } from '../database/transaction';

const KIND = 'closing';

/** As those that ask providers: the next attempt is armed, then this one is made after the commit. */
class Asks implements DeadlineHandler {
  readonly maxBatch = 100;
  readonly asked: string[] = [];
  readonly #queue: AttemptQueue;

  constructor(ask: (subjectId: string) => Promise<Attempted>) {
    const attempt = (subjectId: string): Promise<Attempted> => {
      this.asked.push(subjectId);
      return ask(subjectId);
    };
    this.#queue = new AttemptQueue(10, attempt, () => undefined);
  }

  lockKey(): undefined {
    return undefined;
  }

  async handle(due: readonly DueDeadline[], tx: Transaction): Promise<BatchResult> {
    const dueAt = new Date(Date.now() + 60_000);
    const next = due.map((one) => ({ ...one, dueAt, version: one.version + 1 }));
    await insertDeadlines(tx, next);
    return { changed: due.length, lost: 0 };
  }

  afterCommit(due: readonly DueDeadline[], judge: FollowUpJudge): Promise<void> {
    return this.#queue.run(
      due.map(({ subjectId }) => subjectId),
      judge,
    );
  }
}

describe('Drain, of a kind that works after its commits', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const told: string[] = [];
  const telemetry: Partial<TimeoutTelemetry> = {
    handlerFails: (_, error) => void told.push(String(error)),
    handlerWorks: () => void told.push('works'),
    deadlineHeld: () => void told.push('held'),
  };
  let nowMs: number;
  const pass = (ms: number): void => void (nowMs += ms);
  beforeEach(() => {
    told.length = 0;
    nowMs = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  });
  const drains: Drain[] = [];
  afterEach(async () => {
    for (const one of drains) one.stop();
    await Promise.all(drains.splice(0).map((one) => one.idle()));
    jest.restoreAllMocks();
  });

  function drain(ask: (subjectId: string) => Promise<Attempted>): { one: Drain; asks: Asks } {
    const asks = new Asks(ask);
    const parts = drainParts(store.dataSource, KIND, telemetry);
    const one = new Drain(KIND, asks, parts, { ...drainDefaults, drainers: 1 });
    drains.push(one);
    return { one, asks };
  }
  const insert = (count: number) =>
    store.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       SELECT $1, now() - interval '1 minute', gen_random_uuid() FROM generate_series(1, $2::int)`,
      [KIND, count],
    );
  const makeDue = () => store.rows(`UPDATE deadlines SET due_at = now() - interval '1 second'`);
  const round = async (one: Drain): Promise<void> => {
    await makeDue();
    pass(10_001);
    await one.run('timer');
    await one.idle();
  };
  const bug = (): never => {
    throw new TypeError("reading 'lines' of undefined");
  };

  it('stops for a bug that comes after the commit, tells once, and goes on once it is mended', async () => {
    await insert(200);
    let isMended = false;
    const { one, asks } = drain(async () => (isMended ? 'succeeded' : bug()));
    await one.run('timer');
    await one.idle();
    expect(told).toEqual(["TypeError: reading 'lines' of undefined"]);
    expect(one.standsStill).toBe(true);
    const atFirst = asks.asked.length;
    for (let n = 0; n < 8; n++) await round(one);
    // A few each time, and not all of them.
    expect(asks.asked.length - atFirst).toBeLessThanOrEqual(80);
    expect(told).toHaveLength(1);
    expect(await store.rows('SELECT FROM held_deadlines')).toEqual([]);
    expect(await store.deadlines()).toHaveLength(200);
    isMended = true;
    const before = asks.asked.length;
    await round(one);
    // The others follow, though nobody rings.
    await until('all are asked', async () => asks.asked.length >= before + 200);
    expect(new Set(asks.asked.slice(before)).size).toBe(200);
    expect(told.slice(1)).toEqual(['works']);
  });

  it.each([
    ['no answer', async () => 'nothing' as const],
    ['a server that is away', () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7'))],
    [
      "somebody's lock",
      () => Promise.reject(Object.assign(new Error('lock timeout'), { code: '55P03' })),
    ],
  ])('takes %s for no bug: all are asked, each by its own backoff', async (_, ask) => {
    await insert(200);
    const { one, asks } = drain(ask);
    await one.run('timer');
    await one.idle();
    await round(one);
    expect(told).toEqual([]);
    expect(one.standsStill).toBe(false);
    expect(asks.asked).toHaveLength(400);
  });

  it('stops for a bug also while a provider gives the others no answer', async () => {
    await insert(200);
    let n = 0;
    const { one } = drain(async () => (n++ % 2 === 0 ? 'nothing' : bug()));
    await one.run('timer');
    await one.idle();
    expect(told).toHaveLength(1);
  });

  it('takes twenty that fail again and again for what they are, once others succeed', async () => {
    await insert(20);
    const poisoned = new Set((await store.deadlines()).map(({ subject_id: id }) => id));
    await insert(180);
    const { one, asks } = drain(async (id) => (poisoned.has(id) ? bug() : 'succeeded'));
    await one.run('timer');
    await one.idle();
    for (let again = 0; again < 3; again++) await round(one);
    await until('nothing stands still', async () => !one.standsStill);
    await store.rows('DELETE FROM deadlines WHERE NOT subject_id = ANY ($1)', [[...poisoned]]);
    const [before, alerts] = [asks.asked.length, told.length];
    await round(one);
    expect(asks.asked.slice(before).sort()).toEqual([...poisoned].sort());
    expect(told).toHaveLength(alerts);
    expect(one.standsStill).toBe(false);
  });

  it('does not count its commits as successes', async () => {
    await insert(4);
    const { one } = drain(async () => bug());
    await one.run('timer');
    await one.idle();
    expect(told).toEqual([]);
    await insert(4);
    await one.run('timer');
    await one.idle();
    expect(told).toHaveLength(1);
  });

  it('probes again only after a pause while a probe has not ended', async () => {
    await insert(200);
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    let isSilent = false;
    const { one, asks } = drain(async () => {
      if (isSilent) await answered;
      return bug();
    });
    await one.run('timer');
    await one.idle();
    isSilent = true;
    await makeDue();
    pass(10_001);
    const before = asks.asked.length;
    for (let ring = 0; ring < 20; ring++) await one.run('timer');
    expect(asks.asked.length - before).toBe(10);
    answer();
    await one.idle();
  });
});
