import { until } from '../../../test/support/until';
import { DatabaseClock } from './database/database-clock';
import { NoopLock } from './locks/noop.lock';
import { silentTelemetry } from './telemetry';
import { DeadlineStore } from './testing/deadline-store';
import { HandDriver } from './testing/hand-driver';
import { TimeoutRun } from './timeout-run';
import { TimeoutService } from './timeout.service';
import { listWorkers, type WorkerView } from './sweeping/worker-heartbeat';

type StoppedKinds = WorkerView['stoppedKinds'] | undefined;

const KIND = 'payment';
const HOUR_MS = 3_600_000;
const [MINUTE_MS, FIVE_MINUTES_MS] = [60_000, 300_000];

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
beforeEach(() => store.empty());
afterEach(() => jest.restoreAllMocks());

async function where(): Promise<string[]> {
  const rows = await store.rows<{ place: string }>(
    'SELECT tableoid::regclass::text AS place FROM deadlines',
  );
  return rows.map(({ place }) => place);
}

const now = performance.now.bind(performance);
let passedMs: number;
beforeEach(() => void (passedMs = 0));

/** As if so much time had passed, each time more. */
function pass(ms: number): void {
  passedMs += ms;
  jest.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
}

describe('a worker that sweeps every six hours', () => {
  const [swept, failed, handled, engaged] = [jest.fn(), jest.fn(), jest.fn(), jest.fn()];
  let driver: HandDriver;
  let timeouts: TimeoutService;
  let run: TimeoutRun;
  beforeEach(() => {
    for (const told of [swept, failed, handled, engaged]) told.mockClear();
    const { dataSource } = store;
    driver = new HandDriver();
    const parts = {
      ...{ driver, lock: new NoopLock() },
      ...{ dataSource, drainDataSource: dataSource, clock: new DatabaseClock(dataSource) },
      telemetry: { ...silentTelemetry, swept, failed },
    };
    const sweep = { intervalMs: 6 * HOUR_MS, unhealthyIntervalMs: 1_000, leaveToTimerMs: 1_000 };
    timeouts = new TimeoutService(parts, {
      ...{ kinds: [KIND], granularity: 100, horizonMs: 12 * HOUR_MS, sweep },
      brake: { kinds: [KIND], share: 0.5, onEngaged: engaged },
    });
    timeouts.handle(KIND, {
      maxBatch: 100,
      lockKey: () => undefined,
      handle: (due) => {
        handled(due.length);
        return Promise.resolve({ changed: due.length, lost: 0 });
      },
    });
    run = new TimeoutRun(timeouts, { ring: true, sweep, parts });
  });
  afterEach(async () => {
    await run.stop();
    expect(failed).not.toHaveBeenCalled();
  });

  /** All that was due before is claimed, and its looks for what is late have seen so. */
  async function startAndClaim(): Promise<void> {
    const looked = jest.spyOn(timeouts.sweep, 'takeMissed');
    await run.start();
    await store.add(KIND, [0]);
    await until('it has claimed', async () => handled.mock.calls.length > 0);
    const looks = looked.mock.calls.length;
    await until('it has looked', async () => looked.mock.calls.length > looks + 1);
  }

  it('hears what rings, and waits for no look', async () => {
    await run.start();
    await until('it has swept', async () => swept.mock.calls.length > 0);
    await store.add(KIND, [0]);
    await driver.ring([{ id: 'slot-1', at: await store.now() }]);
    await timeouts.idle();
    expect(handled.mock.calls).toEqual([[1]]);
  });

  it('brings near what comes due before the next sweep', async () => {
    await run.start();
    await until('it has swept', async () => swept.mock.calls.length > 0);
    await store.add(KIND, [1.5 * HOUR_MS]);
    expect(await where()).toEqual(['far_deadlines']);
    pass(FIVE_MINUTES_MS);
    await until('it is near', async () => (await where())[0] === 'near_deadlines');
    expect(swept).toHaveBeenCalledTimes(1);
  });

  it('handles what has been overdue for hours also where that is brought near after its sweep has looked', async () => {
    await store.rows(
      `INSERT INTO far_deadlines (far, kind, due_at, subject_id)
       VALUES (true, $1, now() - interval '2 hours', gen_random_uuid())`,
      [KIND],
    );
    const neighbour = store.dataSource.createQueryRunner();
    await neighbour.startTransaction();
    await neighbour.query('LOCK TABLE far_deadlines IN SHARE MODE');
    await run.start();
    await until('it has swept', async () => swept.mock.calls.length > 0);
    expect(handled).not.toHaveBeenCalled();
    await neighbour.commitTransaction();
    await neighbour.release();
    await until('it is handled', async () => handled.mock.calls.length > 0);
  });

  it('is heard every ten seconds all the same, so that it is missed within a minute', async () => {
    await run.start();
    const heard = () => listWorkers(store.dataSource);
    await until('it has told of itself', async () => (await heard()).length > 0);
    expect(await heard()).toMatchObject([{ sweepIntervalMs: 10_000 }]);
    await store.rows(`UPDATE workers SET swept_at = now() - interval '1 hour'`);
    pass(10_000);
    await until('it is heard again', async () =>
      (await heard()).every(({ silentForMs }) => silentForMs < 60_000),
    );
    expect(swept).toHaveBeenCalledTimes(1);
  });

  it('tells for as long as its handler fails for all, with what', async () => {
    const stopped = async () => (await listWorkers(store.dataSource))[0]?.stoppedKinds;
    const beat = async (say: string, isHeard: (is: StoppedKinds) => boolean): Promise<void> => {
      pass(10_000);
      await until(say, async () => isHeard(await stopped()));
    };
    await run.start();
    await until('it has told of itself', async () => (await stopped()) !== undefined);
    expect(await stopped()).toEqual([]);
    // As somebody's parser words it, half a surrogate pair among it.
    const bug = new TypeError('no lines in "\0\ud800"');
    handled.mockImplementation(() => {
      throw bug;
    });
    await store.add(KIND, Array<number>(20).fill(0));
    await until('it stands still', () => timeouts.stoppedKinds.length > 0);
    await beat('it is told', (kinds) => kinds?.length === 1);
    const reason = 'TypeError: no lines in "\ufffd\ufffd"';
    expect(await stopped()).toEqual([{ kind: KIND, reason, forMs: expect.any(Number) as number }]);
    handled.mockReset();
    pass(10_000);
    await until('it works again', () => timeouts.stoppedKinds.length === 0);
    await beat('it is told', (kinds) => kinds?.length === 0);
    await until('all are handled', async () => (await store.deadlines()).length === 0);
  });

  it('sweeps again soon where a sweep has failed, and is heard again then', async () => {
    jest.spyOn(timeouts.brake, 'refresh').mockRejectedValueOnce(new Error('Postgres is away'));
    await run.start();
    await until('it has failed', async () => failed.mock.calls.length > 0);
    failed.mockClear();
    expect(await listWorkers(store.dataSource)).toEqual([]);
    pass(10_000);
    await until('it has swept', async () => swept.mock.calls.length > 0);
    await until('it has told of itself', async () => {
      return (await listWorkers(store.dataSource)).length > 0;
    });
  });

  it('handles what was brought near by somebody who was killed before it claimed that', async () => {
    await startAndClaim();
    await store.add(KIND, [-2 * HOUR_MS]);
    pass(MINUTE_MS);
    await until('it is handled', async () => handled.mock.calls.length > 1);
  });

  it('goes on with what was brought near while the brake was on, whoever hears first that it is released', async () => {
    await startAndClaim();
    await store.rows(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('a test', $1, 2, 2)`,
      [KIND],
    );
    expect(await timeouts.brake.stops()).toBe(true);
    await store.add(KIND, [-2 * HOUR_MS]);
    await timeouts.sweep.begin();
    pass(MINUTE_MS);
    await store.rows(
      `UPDATE timeout_brakes SET released_at = now(), released_by = 'ann', release_reason = 'seen'`,
    );
    // As a ring does.
    expect(await timeouts.brake.stops()).toBe(false);
    await until('it is handled', async () => handled.mock.calls.length > 1);
  });

  it('goes on as soon as an operator has released the brake', async () => {
    await store.rows(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('a test', $1, 2, 2)`,
      [KIND],
    );
    await run.start();
    await until('it stands still', async () => engaged.mock.calls.length > 0);
    await store.add(KIND, [-2_000, -1_000]);
    await until('it has swept', async () => swept.mock.calls.length > 0);
    expect(handled).not.toHaveBeenCalled();
    await store.rows(
      `UPDATE timeout_brakes SET released_at = now(), released_by = 'ann', release_reason = 'seen'`,
    );
    await until('it goes on', async () => handled.mock.calls.length > 0);
    expect(handled.mock.calls).toEqual([[2]]);
  });
});
