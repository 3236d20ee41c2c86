import { until } from '../../../test/support/until';
import { Alarms } from './alarms/alarms';
import { DatabaseClock } from './database/database-clock';
import type { Deadline } from './deadlines/deadline-handler';
import { NoopLock } from './locks/noop.lock';
import { pause } from './pause';
import { silentTelemetry } from './telemetry';
import { DeadlineStore, subject } from './testing/deadline-store';
import { HandDriver } from './testing/hand-driver';
import { TimeoutRun } from './timeout-run';
import { TimeoutService } from './timeout.service';
import type { Alarm } from './timer-driver';
import { TimerStoreHealth } from './alarms/timer-store-health';

const KIND = 'payment';
const HOUR_MS = 3_600_000;
const FIVE_MINUTES_MS = 300_000;
/** What is waited for no longer, by the code; and by these tests. */
const [ANSWERS_WITHIN_MS, AT_ONCE_MS] = [15_000, 50];

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
beforeEach(() => store.empty());
afterEach(() => jest.restoreAllMocks());

const silence = (): Promise<never> => new Promise(() => undefined);
/** Its broker takes a call and says nothing, while it is silent to that. */
class SilentDriver extends HandDriver {
  silentTo: 'arm' | 'survey' | 'alarms' | undefined;

  override async arm(...alarms: Parameters<HandDriver['arm']>): Promise<void> {
    await (this.silentTo === 'arm' ? silence() : super.arm(...alarms));
  }

  override async survey() {
    if (this.silentTo === 'survey') return silence();
    const isSilent = this.silentTo === 'alarms';
    const alarms = async function* (): AsyncGenerator<never> {
      if (isSilent) yield await silence();
    };
    return { ...(await super.survey()), alarms };
  }
}

async function where(): Promise<string[]> {
  const rows = await store.rows<{ place: string }>(
    'SELECT tableoid::regclass::text AS place FROM deadlines',
  );
  return rows.map(({ place }) => place);
}

/** As if so much time had passed. */
function pass(ms: number): void {
  const { now } = performance;
  jest.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + ms);
}

function giveUpAtOnce(): void {
  const { setTimeout } = globalThis;
  const atOnce = (run: () => void, ms?: number): NodeJS.Timeout =>
    setTimeout(run, ms === ANSWERS_WITHIN_MS ? AT_ONCE_MS : ms);
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(atOnce);
}

it('a worker whose timer store is silent brings near what comes due all the same', async () => {
  const { dataSource } = store;
  const driver = new SilentDriver();
  driver.silentTo = 'survey';
  const parts = {
    ...{ driver, lock: new NoopLock(), dataSource, drainDataSource: dataSource },
    ...{ clock: new DatabaseClock(dataSource), telemetry: silentTelemetry },
  };
  const sweep = { intervalMs: 6 * HOUR_MS, unhealthyIntervalMs: 1_000, leaveToTimerMs: 1_000 };
  const timeouts = new TimeoutService(parts, {
    ...{ kinds: [KIND], granularity: 100, horizonMs: 12 * HOUR_MS, sweep },
  });
  timeouts.handle(KIND, {
    maxBatch: 100,
    lockKey: () => undefined,
    handle: (due) => Promise.resolve({ changed: due.length, lost: 0 }),
  });
  const run = new TimeoutRun(timeouts, { ring: true, sweep, parts });
  const failed = jest.spyOn(timeouts.alarms, 'forget');
  giveUpAtOnce();
  await run.start();
  try {
    await until('it is given up', async () => failed.mock.calls.length > 0);
    await store.add(KIND, [1.5 * HOUR_MS]);
    pass(FIVE_MINUTES_MS);
    await until('it is near', async () => (await where())[0] === 'near_deadlines');
  } finally {
    await run.stop();
  }
});

/** Of so many deadlines, each in a slot of its own. */
const ahead = (count: number): Deadline[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ kind: KIND, subjectId: subject(index), version: 1 },
    dueAt: new Date(Date.now() + 60_000 + index * 100),
  }));

describe('what commits bring, of a store that', () => {
  /** How many alarms each of its calls was offered. */
  let offered: number[];
  /** What a call does with them. */
  let takes: (alarms: readonly Alarm[]) => Promise<unknown>;
  class CountingDriver extends HandDriver {
    override async arm(some: readonly Alarm[]): Promise<void> {
      offered.push(some.length);
      await takes(some);
      await super.arm(some);
    }
  }
  let driver: CountingDriver;
  let alarms: Alarms;
  beforeEach(() => {
    offered = [];
    driver = new CountingDriver();
    const health = new TimerStoreHealth(silentTelemetry);
    const { dataSource } = store;
    alarms = new Alarms(dataSource, driver, new DatabaseClock(dataSource), health, {
      ...{ granularity: 100, horizonMs: HOUR_MS, kinds: [KIND], rings: false },
    });
    giveUpAtOnce();
  });
  afterEach(() => alarms.close());
  const allArmed = (count: number): Promise<unknown> =>
    until('all are armed', async () => new Set(driver.armed.map(({ id }) => id)).size >= count);
  const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);

  it('keeps what it does not answer is offered one at a time until it answers', async () => {
    takes = silence;
    alarms.ensure(ahead(3_000));
    await until('it was asked again and again', async () => offered.length > 4);
    expect(sum(offered)).toBeLessThan(3_000);
    expect(offered.slice(1)).toEqual(offered.slice(1).map(() => 1));
    takes = () => Promise.resolve();
    await allArmed(3_000);
  });

  it('is slow but alive are armed, each once', async () => {
    // In fifty milliseconds, which stand for fifteen seconds, it takes less than half of them.
    takes = (some) => pause(some.length / 25);
    alarms.ensure(ahead(3_000));
    await alarms.settled();
    expect({ armed: driver.armed.length, offered: sum(offered) }).toEqual({
      armed: 3_000,
      offered: 3_000,
    });
  });

  it('refuses some are offered again without those that it took', async () => {
    takes = async () => {
      if (offered.length === 3) throw new Error('busy');
    };
    alarms.ensure(ahead(3_000));
    await allArmed(3_000);
    expect(sum(offered)).toBe(3_000 + (offered[2] as number));
  });
});

describe('alarms, of a store that is silent', () => {
  it.each(['arm', 'survey', 'alarms'] as const)(
    'to %s, are given up, told of, and armed once it answers',
    async (what) => {
      const { dataSource } = store;
      const driver = new SilentDriver();
      const changes: string[] = [];
      const timerStore = (state: string): void => void changes.push(state);
      const health = new TimerStoreHealth({ ...silentTelemetry, timerStore });
      const alarms = new Alarms(dataSource, driver, new DatabaseClock(dataSource), health, {
        ...{ granularity: 100, horizonMs: HOUR_MS, kinds: [KIND] },
      });
      await store.add(KIND, [60_000]);
      const catchUp = async (): Promise<void> => {
        // What the store holds is read through with every sixth.
        for (let turn = 0; turn < 6; turn++) await alarms.catchUp();
      };
      if (what === 'alarms') await alarms.catchUp();
      driver.silentTo = what;
      giveUpAtOnce();
      await expect(catchUp()).rejects.toMatchObject({ code: 'time_limit' });
      driver.silentTo = undefined;
      alarms.forget();
      await catchUp();
      expect(driver.armed.length).toBeGreaterThan(0);
    },
  );

  it('are offered again by who only arms', async () => {
    const { dataSource } = store;
    const driver = new SilentDriver();
    driver.silentTo = 'arm';
    const health = new TimerStoreHealth(silentTelemetry);
    const alarms = new Alarms(dataSource, driver, new DatabaseClock(dataSource), health, {
      ...{ granularity: 100, horizonMs: HOUR_MS, kinds: [KIND], rings: false },
    });
    giveUpAtOnce();
    const dueAt = new Date(Date.now() + 60_000);
    alarms.ensure([{ kind: KIND, subjectId: 'ann', dueAt, version: 1 }]);
    await until('it is given up', async () => !health.healthy);
    driver.silentTo = undefined;
    await until('it is armed', async () => driver.armed.length > 0);
    await alarms.close();
    expect(health.healthy).toBe(true);
  });
});
