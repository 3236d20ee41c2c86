import { randomUUID } from 'node:crypto';
import { AwakeTime } from '../testing/awake-time';
import type { Clock } from '../clock';
import type { Alarm, TimerAbilities } from '../timer-driver';
import { alarmIn, beforeDue, type Bench, HOUR_MS, surveyed } from './driver-bench';

/** Granted beyond a driver's precision to machines that are not at rest. */
const ON_TIME_MS = 1_000;

/** What a driver does not claim is asked by `describeLimits`. */
const leftOut = (): void => undefined;

/** The part of the contract about when alarms ring, and how often. */
export function describeRinging(bench: () => Bench, abilities: TimerAbilities): void {
  const surveying = abilities.surveys ? it : leftOut;

  it('rings each alarm once, with its instant, and never early', async () => {
    const driver = bench().openPatient();
    const early: Alarm[] = [];
    await driver.start(
      bench().onRing((alarm) => void (Date.now() < alarm.at.getTime() && early.push(alarm))),
    );
    const alarms = Array.from({ length: 20 }, (_, index) => alarmIn(20 + index * 10));
    const rings = Promise.all(alarms.map(({ id }) => bench().ringOf(id)));
    await driver.arm(alarms);
    expect(await rings).toEqual(alarms);
    expect(early).toEqual([]);
    expect(bench().rung).toHaveLength(alarms.length);
  });

  it('rings at once what is overdue', async () => {
    const driver = bench().openPatient();
    await driver.start(bench().onRing());
    const alarm = alarmIn(-HOUR_MS);
    const ring = bench().ringOf(alarm.id);
    await driver.arm([alarm]);
    expect(await ring).toEqual(alarm);
  });

  it.each([
    ['of 1970', 0],
    ['of before 1970', -HOUR_MS],
  ])('rings at once what is overdue since an instant %s', async (_, atMs) => {
    const driver = bench().openPatient();
    await driver.start(bench().onRing());
    const alarm = { ...alarmIn(0), at: new Date(atMs) };
    const ring = bench().ringOf(alarm.id);
    await driver.arm([alarm]);
    expect(await ring).toEqual(alarm);
  });

  it('rings again what was armed again while it rang', async () => {
    const driver = bench().openPatient();
    const alarm = alarmIn(20);
    let isArmedAgain = false;
    await driver.start(
      bench().onRing(async ({ id }) => {
        // The ring under way may have looked before whatever this arming stands for.
        if (id !== alarm.id || isArmedAgain) return;
        isArmedAgain = true;
        await driver.arm([alarm]);
      }),
    );
    const first = bench().ringOf(alarm.id);
    await driver.arm([alarm]);
    await first;
    if (bench().timesRung(alarm.id) < 2) await bench().ringOf(alarm.id);
    expect(bench().rung).toEqual([alarm, alarm]);
  });

  surveying('does not count an alarm that rings among those to come', async () => {
    const driver = bench().openPatient();
    const alarm = alarmIn(20);
    let left: Map<string, number> | undefined;
    await driver.start(bench().onRing(async () => void (left = await surveyed(driver))));
    const ring = bench().ringOf(alarm.id);
    await driver.arm([alarm]);
    await ring;
    expect(left).toEqual(new Map());
  });

  it('rings again after as long as the ring has asked for', async () => {
    const driver = bench().openPatient();
    const rungAtMs: number[] = [];
    await driver.start(
      bench().onRing(() => {
        rungAtMs.push(Date.now());
        return rungAtMs.length < 3 ? { ringAgainInMs: 50 } : undefined;
      }),
    );
    const alarm = alarmIn(20);
    for (const times of [1, 2, 3]) {
      const ring = bench().ringOf(alarm.id);
      if (times === 1) await driver.arm([alarm]);
      await ring;
    }
    const fence = alarmIn(200);
    const end = bench().ringOf(fence.id);
    await driver.arm([fence]);
    await end;
    expect(bench().rung).toEqual([alarm, alarm, alarm, fence]);
    expect((rungAtMs[2] as number) - (rungAtMs[0] as number)).toBeGreaterThanOrEqual(100);
  });

  it('lets no failed ring stop the others, and tells of it', async () => {
    const driver = bench().openPatient();
    const [bad, good] = [alarmIn(30), alarmIn(90)];
    await driver.start(
      bench().onRing((alarm) => {
        if (alarm.id === bad.id) throw new Error('this ring fails');
      }),
    );
    // Told once the store has taken note, which can be after the next ring.
    const [ring, told] = [bench().ringOf(good.id), bench().nextError()];
    await driver.arm([bad, good]);
    await Promise.all([ring, told]);
    expect(bench().errors.map(({ message }) => message)).toEqual(['this ring fails']);
  });

  it('rings others while a ring takes its time', async () => {
    const driver = bench().openPatient();
    const [slow, quick] = [alarmIn(10), alarmIn(60)];
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    await driver.start(
      bench().onRing(async ({ id }) => {
        if (id === slow.id) await finished;
        return undefined;
      }),
    );
    const [slowRing, quickRing] = [bench().ringOf(slow.id), bench().ringOf(quick.id)];
    await driver.arm([slow, quick]);
    await quickRing;
    finish();
    await slowRing;
    expect(bench().rung).toEqual([quick, slow]);
  });
}

/** The part of the contract that takes its time: order, punctuality, and what is armed twice. */
export function describePunctuality(bench: () => Bench, abilities: TimerAbilities): void {
  const deduping = abilities.dedupes ? it : leftOut;

  deduping('rings once what was armed twice', async () => {
    const driver = bench().openPatient();
    await driver.start(bench().onRing());
    const twice = await beforeDue(400, async (alarm) => {
      await Promise.all([driver.arm([alarm]), driver.arm([alarm, alarm])]);
      await driver.arm([{ id: alarm.id, at: new Date(alarm.at.getTime() + 30) }]);
    });
    const fence = { ...alarmIn(0), at: new Date(twice.at.getTime() + 300) };
    const rings = [bench().ringOf(twice.id), bench().ringOf(fence.id)];
    await driver.arm([fence]);
    await Promise.all(rings);
    expect(bench().timesRung(twice.id)).toBe(1);
  });

  it('rings again what was armed again after its ring', async () => {
    const driver = bench().openPatient();
    await driver.start(bench().onRing());
    const id = `test-${randomUUID()}`;
    for (const times of [1, 2]) {
      const [alarm, fence] = [alarmIn(20, id), alarmIn(300)];
      const rings = [bench().ringOf(id), bench().ringOf(fence.id)];
      await driver.arm([alarm, fence]);
      await Promise.all(rings);
      expect(bench().timesRung(id)).toBe(times);
    }
  });

  it('rings on time, counted from the arming where that came after the instant', async () => {
    const driver = bench().openPatient();
    const time = new AwakeTime();
    const dueMs = new Map<string, number>();
    const lateByMs: number[] = [];
    await driver.start(
      // One that has rung before our own timer for it is not late.
      bench().onRing(({ id }) => {
        lateByMs.push(time.nowMs - (dueMs.get(id) ?? time.nowMs));
      }),
    );
    const alarms = Array.from({ length: 40 }, (_, index) => alarmIn(index * 20 - 100));
    for (const { id, at } of alarms) {
      const delayMs = Math.max(0, at.getTime() - Date.now());
      setTimeout(() => dueMs.set(id, time.nowMs), delayMs);
    }
    const rings = Promise.all(alarms.map(({ id }) => bench().ringOf(id)));
    await driver.arm(alarms);
    await rings;
    time.stop();
    expect(Math.max(...lateByMs)).toBeLessThan(abilities.precisionMs + ON_TIME_MS);
  });

  it('rings an earlier alarm first although it was armed later', async () => {
    const driver = bench().openPatient();
    await driver.start(bench().onRing());
    const rings: Promise<Alarm>[] = [];
    const later = await beforeDue(700, async (alarm) => {
      const earlier = alarmIn(200);
      void rings.splice(0, 2, bench().ringOf(earlier.id), bench().ringOf(alarm.id));
      await driver.arm([alarm]);
      await driver.arm([earlier]);
      await rings[0];
    });
    const [earlier] = await Promise.all(rings);
    expect(bench().rung.slice(-2)).toEqual([earlier, later]);
  });

  it('keeps an alarm that is farther away than 2^31 ms, and does not ring it', async () => {
    const driver = bench().openPatient();
    await driver.start(bench().onRing());
    const far = [alarmIn(2 ** 31 + 1_000), alarmIn(60 * 24 * HOUR_MS)];
    const fence = alarmIn(80);
    const ring = bench().ringOf(fence.id);
    await driver.arm([...far, fence]);
    await ring;
    expect(bench().rung).toEqual([fence]);
    if (!abilities.surveys) return;
    expect(await surveyed(driver)).toEqual(new Map(far.map(({ id, at }) => [id, at.getTime()])));
  });
}

/** The part of the contract about a database clock that is not this machine's. */
export function describeClocks(bench: () => Bench): void {
  it.each([
    ['ahead of', 5 * 60_000],
    ['behind', -5 * 60_000],
  ])("rings by the database's clock when it is %s this machine's", async (_, offsetMs) => {
    const clock: Clock = { nowMs: () => Date.now() + offsetMs };
    const driver = bench().openPatient(clock);
    await driver.start(bench().onRing());
    const alarm = alarmIn(100, undefined, clock);
    const ring = bench().ringOf(alarm.id);
    await driver.arm([alarm]);
    await ring;
    expect(clock.nowMs()).toBeGreaterThanOrEqual(alarm.at.getTime());
  });

  it.each([
    ['back', -200],
    ['forward', 24 * HOUR_MS],
  ])("rings when the database's clock has jumped %s meanwhile", async (_, jumpMs) => {
    let offsetMs = 0;
    const clock: Clock = { nowMs: () => Date.now() + offsetMs };
    const driver = bench().openPatient(clock);
    const due: Alarm[] = [];
    // What the owner of the alarms does: it looks at the database's clock, and comes back.
    await driver.start(
      bench().onRing((alarm) => {
        const leftMs = alarm.at.getTime() - clock.nowMs();
        if (leftMs > 0) return { ringAgainInMs: leftMs };
        due.push(alarm);
        fence();
        return undefined;
      }),
    );
    let fence = (): void => undefined;
    const end = new Promise<void>((resolve) => (fence = resolve));
    const alarm = alarmIn(60, undefined, clock);
    await driver.arm([alarm]);
    offsetMs = jumpMs;
    await end;
    expect(due).toEqual([alarm]);
  });
}
