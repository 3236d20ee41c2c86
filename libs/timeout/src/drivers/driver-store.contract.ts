import { timed } from '../testing/awake-time';
import { Gate } from '../testing/gate';
import { pause } from '../pause';
import type { Alarm, TimerAbilities, TimerDriver } from '../timer-driver';
import {
  alarmIn,
  beforeDue,
  type Bench,
  type DriverStore,
  HOUR_MS,
  surveyed,
} from './driver-bench';

/** The port's promise: `arm` rejects within this time while the store is away. */
const ARM_BOUND_MS = 2_000;
const STOP_BOUND_MS = 4_000;
/** A broker reads its logs when it is started, on a machine that does other things as well. */
const EVENTUALLY_MS = 30_000;

/** The part of the contract about the store of a durable driver. */
export function describeStoreFaults(
  bench: () => Bench,
  store: () => DriverStore,
  abilities: TimerAbilities,
): void {
  it('rings on after the store was killed while nothing happened, and came back', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    const rings: Promise<Alarm>[] = [];
    const before = await beforeDue(600, async (alarm) => {
      rings.push(bench().ringOf(alarm.id));
      await armEventually(driver, [alarm]);
      await store().kill();
      await store().start();
    });
    const after = alarmIn(300);
    rings.push(bench().ringOf(after.id));
    await armEventually(driver, [after]);
    await Promise.all(rings);
    // A broker that died before it heard of the ring asks for it again.
    if (abilities.dedupes) expect(bench().timesRung(before.id)).toBe(1);
  });

  it('rings, late, everything that came due while the store was away', async () => {
    const [driver, other] = [bench().open(), bench().open()];
    const inHands = alarmIn(0);
    let [begun, goOn] = [(): void => undefined, (): void => undefined];
    const ringing = new Promise<void>((resolve) => (begun = resolve));
    const isBack = new Promise<void>((resolve) => (goOn = resolve));
    const onRing = bench().onRing(async ({ id }) => {
      if (id !== inHands.id) return;
      begun();
      await isBack;
    });
    await Promise.all([driver.start(onRing), other.start(onRing)]);
    await armEventually(driver, [inHands]);
    await ringing;
    // It goes before they are due, and comes back when the first of them are overdue.
    let isAway = false;
    let waiting: Alarm[] = [];
    const first = await beforeDue(400, async ({ id, at }) => {
      if (isAway) await store().start();
      waiting = Array.from({ length: 150 }, (_, index) => ({
        id: `${id}-${index}`,
        at: new Date(at.getTime() + index * 10),
      }));
      await armEventually(driver, waiting);
      await store().kill();
      isAway = true;
    });
    const rings = [inHands, ...waiting].map(({ id }) => bench().ringOf(id));
    await pause(first.at.getTime() + 200 - Date.now());
    await store().start();
    goOn();
    await Promise.all(rings);
    const rung = new Set(bench().rung.map(({ id }) => id));
    expect(waiting.filter(({ id }) => !rung.has(id))).toEqual([]);
  });

  it('comes back within 3 s of the store', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    await armEventually(driver, [alarmIn(HOUR_MS)]);
    await store().kill();
    // Long enough for the waits between its tries to have grown.
    await expectBoundedRejection(driver);
    await store().start();
    const { tookMs } = await timed(async () => {
      const alarm = alarmIn(0);
      const ring = bench().ringOf(alarm.id);
      await armEventually(driver, [alarm]);
      await ring;
    });
    expect(tookMs).toBeLessThan(3_000);
  });

  it('rings on after the store was silent for a while', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    await armEventually(driver, [alarmIn(HOUR_MS)]);
    store().freeze();
    await expectBoundedRejection(driver);
    await expectBoundedRejection(driver);
    store().thaw();
    const alarm = alarmIn(50);
    const ring = bench().ringOf(alarm.id);
    await armEventually(driver, [alarm]);
    await ring;
  });

  it('starts without the store, and rings when it comes', async () => {
    await store().kill();
    const driver = bench().open();
    await driver.start(bench().onRing());
    await expectBoundedRejection(driver);
    await store().start();
    const alarm = alarmIn(0);
    const ring = bench().ringOf(alarm.id);
    await armEventually(driver, [alarm]);
    await ring;
  });

  const noticing = abilities.noticesLoss ? 'has another generation' : 'notices nothing';
  it(`${noticing} after the store lost its data, and rings on`, async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    await armEventually(driver, [alarmIn(HOUR_MS)]);
    const { generation } = await eventually(() => driver.survey());
    await store().flush();
    const survey = await eventually(() => driver.survey());
    expect(survey.generation !== generation).toBe(abilities.noticesLoss);
    if (abilities.surveys) expect((await surveyed(driver)).size).toBe(0);
    const alarm = alarmIn(50);
    const ring = bench().ringOf(alarm.id);
    await armEventually(driver, [alarm]);
    await ring;
  });

  it('keeps its generation when the store comes back with its data', async () => {
    const driver = bench().open();
    const { generation } = await eventually(() => driver.survey());
    await store().kill();
    await store().start();
    await armEventually(driver, [alarmIn(HOUR_MS)]);
    // Of a cluster one part may be back before another.
    expect((await eventually(() => driver.survey())).generation).toBe(generation);
  });

  it('stops in bounded time while the store is away', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    await armEventually(driver, [alarmIn(HOUR_MS)]);
    await store().kill();
    await expectBoundedStop(driver);
    await store().start();
  });

  it('stops in bounded time when the store was never there', async () => {
    await store().kill();
    const driver = bench().open();
    await driver.start(bench().onRing());
    await expectBoundedRejection(driver);
    await expectBoundedStop(driver);
    await store().start();
  });

  it('stops in bounded time while the store is silent, in the middle of a ring', async () => {
    const driver = bench().open();
    const alarm = alarmIn(0);
    const ring = bench().ringOf(alarm.id);
    // The store may ring before it has said that it is armed.
    const armed = new Gate();
    await driver.start(
      bench().onRing(async () => {
        await armed.pass();
        store().freeze();
      }),
    );
    await armEventually(driver, [alarm]);
    armed.open();
    await ring;
    await expectBoundedStop(driver);
    store().thaw();
  });

  it('leaves no connection behind', async () => {
    const before = await store().connections();
    const drivers = [bench().openPatient(), bench().openPatient()];
    for (const driver of drivers) {
      const alarm = alarmIn(0);
      const ring = bench().ringOf(alarm.id);
      await driver.start(bench().onRing());
      await driver.arm([alarm]);
      await ring;
    }
    expect(await store().connections()).toBeGreaterThan(before);
    await Promise.all(drivers.map((driver) => driver.stop()));
    // What was hung up is gone when the other side has heard of it.
    await eventually(async () => expect(await store().connections()).toBeLessThanOrEqual(before));
  });
}

async function expectBoundedRejection(driver: TimerDriver): Promise<void> {
  const { tookMs } = await timed(() =>
    expect(driver.arm([alarmIn(HOUR_MS)])).rejects.toThrow('alarm store'),
  );
  expect(tookMs).toBeLessThan(ARM_BOUND_MS);
}

async function expectBoundedStop(driver: TimerDriver): Promise<void> {
  const { tookMs } = await timed(() => driver.stop());
  expect(tookMs).toBeLessThan(STOP_BOUND_MS);
}

/** As the sweep does it: what could not be armed is armed with the next try. */
async function armEventually(driver: TimerDriver, alarms: readonly Alarm[]): Promise<void> {
  await eventually(() => driver.arm(alarms));
}

async function eventually<T>(ask: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + EVENTUALLY_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
