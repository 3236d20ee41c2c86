import { alarmFor } from './alarm-for';
import { Alarms } from './alarms';
import type { Granularity } from '../slots';
import { silentTelemetry } from '../telemetry';
import { TRUSTED_ABILITIES } from '../testing/trusted-abilities';
import { DeadlineStore, subject } from '../testing/deadline-store';
import type { Alarm, TimerDriver } from '../timer-driver';
import { TimerStoreHealth } from './timer-store-health';

const KIND = 'payment';
const HORIZON_MS = 60_000;

/** Remembers what it was told to arm, like a store that loses nothing until it is told to. */
class FakeDriver implements TimerDriver {
  readonly name = 'fake';
  readonly abilities = TRUSTED_ABILITIES;
  armed: string[] = [];
  /** What it has lost of it. */
  readonly lost = new Set<string>();
  calls = 0;
  onArm = (): void => undefined;
  generation = 'one';
  isAway = false;

  async start(): Promise<void> {}
  async stop(): Promise<void> {}
  async disarm(): Promise<void> {}

  async arm(alarms: readonly Alarm[]): Promise<void> {
    this.calls += 1;
    if (this.isAway) throw new Error('away');
    this.onArm();
    for (const { id } of alarms) this.lost.delete(id);
    this.armed.push(...alarms.map(({ id }) => id));
  }

  async survey() {
    if (this.isAway) throw new Error('away');
    const held = this.armed.filter((id) => !this.lost.has(id));
    return {
      generation: this.generation,
      async *alarms() {
        for (const id of held) yield { id, at: new Date(Number(id.split('-').at(-1))) };
      },
    };
  }

  lose(): void {
    this.armed = [];
    this.generation = 'two';
  }
}

const at = (ms: number, index = 0) => ({
  kind: KIND,
  subjectId: subject(index),
  dueAt: new Date(ms),
  version: 1,
});

describe('alarmFor', () => {
  it('is the slot’s, which rings as it begins', () => {
    expect(alarmFor(at(1_000), 100)).toEqual({ id: 'slot-1000', at: new Date(900) });
    expect(alarmFor(at(1_001), 100)).toEqual({ id: 'slot-1100', at: new Date(1_000) });
  });

  it('is one for each version of an order’s deadline, if asked for', () => {
    expect(alarmFor(at(1_001), 'subject')).toEqual({
      id: `payment-${subject(0)}-1-1001`,
      at: new Date(1_001),
    });
  });
});

describe('Alarms', () => {
  let store: DeadlineStore;
  let nowMs: number;
  /** Of the machine, until somebody compares it with the database's. */
  let clockIsOffByMs = 0;
  const measure = (): void => void (clockIsOffByMs = 0);
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  afterEach(() => jest.useRealTimers());
  beforeEach(async () => {
    await store.empty();
    nowMs = Math.ceil((await store.now()).getTime() / 1_000) * 1_000;
  });

  const create = (
    driver: FakeDriver,
    granularity: Granularity = 100,
    changes: boolean[] = [],
    rings = true,
  ) => {
    const timerStore = (state: string) => void changes.push(state === 'healthy');
    const health = new TimerStoreHealth({ ...silentTelemetry, timerStore });
    const options = { granularity, horizonMs: HORIZON_MS, kinds: [KIND], rings };
    const clock = { nowMs: () => nowMs + clockIsOffByMs, freshen: async () => measure() };
    return new Alarms(store.dataSource, driver, clock, health, options);
  };

  it('shares one alarm among the deadlines of a slot', async () => {
    const driver = new FakeDriver();
    const alarms = create(driver);
    alarms.ensure([at(nowMs + 901), at(nowMs + 950), at(nowMs + 1_000), at(nowMs + 1_001)]);
    await alarms.settled();
    expect(driver.armed).toEqual([`slot-${nowMs + 1_000}`, `slot-${nowMs + 1_100}`]);
  });

  it('arms what was due long before it was committed: it rings at once', async () => {
    const driver = new FakeDriver();
    const alarms = create(driver, 100, [], false);
    const hourAgo = nowMs - 3_600_000;
    alarms.ensure([at(hourAgo)]);
    await alarms.settled();
    expect(driver.armed).toEqual([`slot-${hourAgo}`]);
  });

  it('arms one for all that was due long before: whoever hears it looks from then on', async () => {
    const driver = new FakeDriver();
    const alarms = create(driver);
    const past = [70_000, 90_000, 80_000].map((ms) => at(nowMs - ms));
    alarms.ensure([...past, at(nowMs - 1_000)]);
    await alarms.settled();
    expect(driver.armed).toEqual([`slot-${nowMs - 90_000}`, `slot-${nowMs - 1_000}`]);
  });

  it('arms nothing that only another process could ring', async () => {
    const driver = new FakeDriver();
    const inEachProcess = Object.assign(new FakeDriver(), {
      abilities: { ...driver.abilities, scope: 'process' },
    });
    for (const one of [driver, inEachProcess]) {
      const alarms = create(one, 100, [], false);
      alarms.ensure([at(nowMs + 500)]);
      await alarms.settled();
    }
    expect([driver.armed.length, inEachProcess.armed.length]).toEqual([1, 0]);
  });

  it('arms a slot once, and what many commits bring in one call', async () => {
    const driver = new FakeDriver();
    const alarms = create(driver);
    for (let i = 1; i <= 5; i++) alarms.ensure([at(nowMs + i * 100)]);
    await alarms.settled();
    alarms.ensure([at(nowMs + 150)]);
    await alarms.settled();
    expect(driver.armed).toHaveLength(5);
    expect(driver.calls).toBe(1);
  });

  it('arms a slot again that has begun: its alarm may have rung before this commit', async () => {
    const driver = new FakeDriver();
    const alarms = create(driver);
    alarms.ensure([at(nowMs + 200)]);
    await alarms.settled();
    nowMs += 150;
    alarms.ensure([at(nowMs + 40)]);
    await alarms.settled();
    expect(driver.armed).toEqual([`slot-${nowMs + 50}`, `slot-${nowMs + 50}`]);
  });

  it('leaves what is beyond the horizon until it has come near', async () => {
    const driver = new FakeDriver();
    const alarms = create(driver);
    const dueAt = new Date(nowMs + HORIZON_MS + 500);
    alarms.ensure([{ ...at(0), dueAt }]);
    await alarms.settled();
    await store.rows('INSERT INTO deadlines (kind, due_at, subject_id) VALUES ($1, $2, $3)', [
      KIND,
      dueAt,
      subject(0),
    ]);
    expect(await alarms.catchUp()).toBe(0);
    nowMs += 1_000;
    expect(await alarms.catchUp()).toBe(1);
    expect(await alarms.catchUp()).toBe(0);
    expect(driver.armed).toEqual([`slot-${dueAt.getTime()}`]);
  });

  it.each<Granularity>([100, 'subject'])(
    'arms all again when the store has lost them (%s)',
    async (granularity) => {
      const driver = new FakeDriver();
      const alarms = create(driver, granularity);
      await store.add(KIND, [10_000, 20_000, 30_000]);
      expect(await alarms.catchUp()).toBe(3);
      const before = [...driver.armed];
      driver.lose();
      expect(await alarms.catchUp()).toBe(3);
      expect(driver.armed.sort()).toEqual(before.sort());
    },
  );

  it('trusts nothing after a failure to arm, and says that the store is unhealthy', async () => {
    const driver = new FakeDriver();
    const changes: boolean[] = [];
    const alarms = create(driver, 100, changes);
    await store.add(KIND, [10_000, 20_000]);
    await alarms.catchUp();
    driver.isAway = true;
    alarms.ensure([at(nowMs + 5_000)]);
    await alarms.settled();
    expect(changes).toEqual([false]);
    driver.isAway = false;
    driver.armed = [];
    expect(await alarms.catchUp()).toBe(2);
  });

  it('offers again what the store did not take, for it may be the only one who knows', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const driver = new FakeDriver();
    driver.isAway = true;
    const alarms = create(driver);
    alarms.ensure([at(nowMs + 5_000), at(nowMs + 6_000)]);
    await alarms.settled();
    driver.isAway = false;
    jest.advanceTimersByTime(1_000);
    await alarms.settled();
    expect(driver.armed).toEqual([`slot-${nowMs + 5_000}`, `slot-${nowMs + 6_000}`]);
    await alarms.close();
  });

  it('says in a process that never sweeps that the store is well again, once it takes what it had refused', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const [driver, changes] = [new FakeDriver(), [] as boolean[]];
    const alarms = create(driver, 100, changes, false);
    const offerAgain = async (): Promise<void> => {
      jest.advanceTimersByTime(1_000);
      await alarms.settled();
    };
    driver.isAway = true;
    alarms.ensure([at(nowMs + 700)]);
    await alarms.settled();
    // Whoever hears it an hour late looks from then on.
    nowMs += 3_600_000;
    await offerAgain();
    expect(changes).toEqual([false]);
    driver.isAway = false;
    await offerAgain();
    expect(changes).toEqual([false, true]);
    expect(driver.armed).toHaveLength(1);
    const { calls } = driver;
    await offerAgain();
    expect(driver.calls).toBe(calls);
  });

  it('leaves it to the sweep, where there is one, to say that the store is well again', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const [driver, changes] = [new FakeDriver(), [] as boolean[]];
    const alarms = create(driver, 100, changes);
    driver.isAway = true;
    alarms.ensure([at(nowMs + 5_000)]);
    await alarms.settled();
    driver.isAway = false;
    jest.advanceTimersByTime(1_000);
    await alarms.settled();
    // What it takes may ring late all the same.
    expect([driver.armed.length, changes]).toEqual([1, [false]]);
    await alarms.close();
  });

  it('asks a store that refuses in its own time, not with every commit', async () => {
    const driver = new FakeDriver();
    driver.isAway = true;
    const alarms = create(driver);
    for (let i = 0; i < 50; i++) {
      alarms.ensure([at(nowMs + 5_000 + i)]);
      await alarms.settled();
    }
    expect(driver.calls).toBe(1);
    await alarms.close();
  });

  it('arms by the database’s clock on a machine that is five minutes behind', async () => {
    const driver = new FakeDriver();
    const alarms = create(driver);
    clockIsOffByMs = -5 * 60_000;
    alarms.ensure([at(nowMs + HORIZON_MS)]);
    await alarms.settled();
    expect(driver.armed).toEqual([`slot-${nowMs + HORIZON_MS}`]);
  });

  it('forgets slots that are past in a process that never sweeps, too', async () => {
    const alarms = create(new FakeDriver());
    for (let i = 0; i < 3_000; i++) {
      alarms.ensure([at(nowMs + 500)]);
      await alarms.settled();
      nowMs += 100;
    }
    expect(alarms.rememberedSlots).toBeLessThan(30);
  });

  it.each<Granularity>([100, 'subject'])(
    'notices that a part was lost, arms it, and tells (%s)',
    async (granularity) => {
      const driver = new FakeDriver();
      const told: boolean[] = [];
      const alarms = create(driver, granularity, told);
      await store.add(KIND, [30_000, 40_000, 50_000]);
      await alarms.catchUp();
      driver.lost.add(driver.armed[1] as string);
      let mended = 0;
      for (let i = 0; i < 6; i++) mended += await alarms.catchUp();
      expect({ mended, told, lost: driver.lost.size }).toEqual({
        mended: 1,
        told: [false],
        lost: 0,
      });
    },
  );

  it('arms what rings before the next sweep but one anyway', async () => {
    const driver = new FakeDriver();
    const alarms = create(driver);
    await store.add(KIND, [10_000, 20_000]);
    await alarms.catchUp();
    for (const id of driver.armed) driver.lost.add(id);
    await alarms.catchUp();
    expect(driver.lost.size).toBe(0);
  });

  it('does not believe what it armed while it was told to forget', async () => {
    const driver = new FakeDriver();
    const alarms = create(driver);
    await store.add(KIND, [30_000, 40_000]);
    driver.onArm = () => alarms.forget();
    await alarms.catchUp();
    driver.onArm = () => undefined;
    for (const id of driver.armed) driver.lost.add(id);
    expect(await alarms.catchUp()).toBe(2);
    expect(driver.lost.size).toBe(0);
  });

  it('rejects when the store does not answer', async () => {
    const driver = new FakeDriver();
    driver.isAway = true;
    await expect(create(driver).catchUp()).rejects.toThrow('away');
  });
});
