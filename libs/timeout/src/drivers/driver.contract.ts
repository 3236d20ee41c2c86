import { randomUUID } from 'node:crypto';
import type { Alarm, TimerAbilities } from '../timer-driver';
import { alarmIn, beforeDue, Bench, type DriverUnderTest, HOUR_MS, surveyed } from './driver-bench';
import { describeLimits } from './driver-limits.contract';
import { describeClocks, describePunctuality, describeRinging } from './driver-ringing.contract';
import { describeStoreFaults } from './driver-store.contract';

/** More than a page of any store. */
const SURVEYED = 2_500;

/**
 * What every implementation of `TimerDriver` does: in two seconds in its `spec`, and everything,
 * with the faults of its store, in its `long`.
 */
export function describeTimerDriver(
  name: string,
  subject: DriverUnderTest,
  extent: 'essentials' | 'everything' = 'everything',
): void {
  describe(`${name}: the contract of every timer driver`, () => {
    let bench: Bench;
    beforeEach(() => {
      bench = new Bench(subject);
    });
    afterEach(() => bench.close());

    it('claims what its registration says', () => {
      expect(bench.openPatient().abilities).toEqual(subject.abilities);
    });
    describeRinging(() => bench, subject.abilities);
    describeLimits(() => bench, subject.abilities);
    describeLifeCycle(() => bench, subject);
    describeBookkeeping(() => bench, subject.abilities);
    if (extent === 'essentials') return;
    describePunctuality(() => bench, subject.abilities);
    describeClocks(() => bench);
    if (subject.store) describeStoreFaults(() => bench, subject.store, subject.abilities);
  });
}

/** What a driver does not claim is asked by {@link describeLimits}. */
const leftOut = (): void => undefined;

function describeLifeCycle(bench: () => Bench, { abilities }: DriverUnderTest): void {
  const shared = abilities.scope === 'shared' ? it : leftOut;
  const durably = abilities.durable ? it : leftOut;
  const lasting = abilities.durable && abilities.scope === 'shared' ? it : leftOut;

  it('arms without ringing, and rings when it is started', async () => {
    let ring = Promise.resolve<Alarm | undefined>(undefined);
    // What nobody hears is lost to those that do not last: they have to be started by then.
    const lasts = abilities.durable || abilities.scope === 'process';
    const alarm = await beforeDue(lasts ? 30 : 500, async (next) => {
      const driver = bench().openPatient();
      ring = bench().ringOf(next.id);
      await driver.arm([next]);
      await driver.start(bench().onRing());
    });
    expect(await ring).toEqual(alarm);
  });

  shared('rings what another process has armed', async () => {
    const [armer, ringer] = [bench().openPatient(), bench().openPatient()];
    await ringer.start(bench().onRing());
    const alarm = alarmIn(50);
    const ring = bench().ringOf(alarm.id);
    await armer.arm([alarm]);
    expect(await ring).toEqual(alarm);
  });

  shared('rings once with two processes listening', async () => {
    const [one, other] = [bench().openPatient(), bench().openPatient()];
    await Promise.all([one.start(bench().onRing()), other.start(bench().onRing())]);
    const alarms = Array.from({ length: 50 }, () => alarmIn(60));
    const rings = Promise.all(alarms.map(({ id }) => bench().ringOf(id)));
    await one.arm(alarms);
    await rings;
    expect(bench().rung).toHaveLength(alarms.length);
  });

  durably('rings after a restart what was armed before it', async () => {
    const before = bench().openPatient();
    await before.start(bench().onRing());
    const alarms = [alarmIn(100), alarmIn(250)];
    // On a machine that is busy the first may ring before it is stopped: once is once.
    const rings = Promise.all(alarms.map(({ id }) => bench().ringOf(id)));
    await before.arm(alarms);
    await before.stop();
    await bench().openPatient().start(bench().onRing());
    expect(await rings).toEqual(alarms);
    // What was just being handed out when the first stopped may come after the other.
    expect(bench().rung).toHaveLength(alarms.length);
    expect(bench().rung).toEqual(expect.arrayContaining(alarms));
  });

  lasting('leaves to others what comes due while it stops', async () => {
    const [stopping, other] = [bench().openPatient(), bench().openPatient()];
    const [slow, next] = [alarmIn(0), alarmIn(0)];
    const rungBy: string[] = [];
    let [begun, finish] = [(): void => undefined, (): void => undefined];
    const ringing = new Promise<void>((resolve) => (begun = resolve));
    const finished = new Promise<void>((resolve) => (finish = resolve));
    await stopping.start(
      bench().onRing(async ({ id }) => {
        rungBy.push(id === slow.id ? 'slow by the one that stops' : 'next by the one that stops');
        begun();
        await finished;
      }),
    );
    await stopping.arm([slow]);
    await ringing;
    const stopped = stopping.stop();
    const ring = bench().ringOf(next.id);
    await other.arm([next]);
    await other.start(bench().onRing(() => void rungBy.push('next by the other')));
    await ring;
    finish();
    await stopped;
    // Who has stopped has told the store what had rung: it rings for nobody again.
    const fence = alarmIn(0);
    const end = bench().ringOf(fence.id);
    await other.arm([fence]);
    await end;
    expect(rungBy).toEqual([
      'slow by the one that stops',
      'next by the other',
      'next by the other',
    ]);
  });

  it('stops before it was started, and twice', async () => {
    const driver = bench().openPatient();
    await driver.stop();
    await expect(driver.stop()).resolves.toBeUndefined();
    await expect(driver.arm([alarmIn(0)])).rejects.toThrow('stopped');
    await expect(driver.start(bench().onRing())).rejects.toThrow('stopped');
  });

  it('waits, when stopped, for the ring under way, and rings no more', async () => {
    const driver = bench().openPatient();
    const story: string[] = [];
    let [begun, finish] = [(): void => undefined, (): void => undefined];
    const ringing = new Promise<void>((resolve) => (begun = resolve));
    const finished = new Promise<void>((resolve) => (finish = resolve));
    await driver.start(
      bench().onRing(async () => {
        begun();
        await finished;
        story.push('ring ended');
        return undefined;
      }),
    );
    await driver.arm([alarmIn(0)]);
    await ringing;
    const other = bench().openPatient();
    const callStore = () => other.arm([alarmIn(3_600_000)]);
    await callStore();
    const stopped = driver.stop().then(() => story.push('stopped'));
    // Whoever does not wait for a ring has taken leave of the store, and stopped, by then.
    for (let calls = 0; calls < 20; calls++) await callStore();
    await other.stop();
    expect(story).toEqual([]);
    finish();
    await stopped;
    const next = bench().openPatient();
    await next.start(bench().onRing());
    const alarm = alarmIn(0);
    const ring = bench().ringOf(alarm.id);
    await next.arm([alarm]);
    await ring;
    expect(story).toEqual(['ring ended', 'stopped']);
  });
}

function describeBookkeeping(bench: () => Bench, abilities: TimerAbilities): void {
  const disarming = abilities.disarms ? it : leftOut;
  const surveying = abilities.surveys ? it : leftOut;

  disarming('does not ring what was disarmed, and ignores ids it does not know', async () => {
    const driver = bench().openPatient();
    await driver.start(bench().onRing());
    // Also where a connection is opened for taking it back.
    const gone = await beforeDue(60, async (alarm) => {
      await driver.arm([alarm]);
      await driver.disarm([alarm.id, `test-${randomUUID()}`]);
    });
    const fence = { ...alarmIn(0), at: new Date(gone.at.getTime() + 60) };
    const ring = bench().ringOf(fence.id);
    await driver.arm([fence]);
    await ring;
    expect(bench().timesRung(gone.id)).toBe(0);
  });

  disarming('arms again what was disarmed', async () => {
    const driver = bench().openPatient();
    await driver.start(bench().onRing());
    const alarm = alarmIn(60);
    const ring = bench().ringOf(alarm.id);
    await driver.arm([{ id: alarm.id, at: new Date(alarm.at.getTime() + HOUR_MS) }]);
    await driver.disarm([alarm.id]);
    await driver.arm([alarm]);
    expect(await ring).toEqual(alarm);
  });

  it('does nothing when asked to arm or disarm nothing', async () => {
    const driver = bench().openPatient();
    await driver.arm([]);
    await expect(driver.disarm([])).resolves.toBeUndefined();
  });

  it('has one generation, however often it is asked', async () => {
    const one = bench().openPatient();
    const other = abilities.scope === 'shared' ? bench().openPatient() : one;
    const { generation } = await one.survey();
    expect((await one.survey()).generation).toBe(generation);
    // Whoever cannot tell a loss marks nothing in the store that others could see.
    if (abilities.noticesLoss) expect((await other.survey()).generation).toBe(generation);
  });

  surveying(`surveys ${SURVEYED} alarms, once each`, async () => {
    const driver = bench().openPatient();
    const alarms = Array.from({ length: SURVEYED }, (_, index) => alarmIn(HOUR_MS + index));
    await driver.arm(alarms);
    expect(await surveyed(driver)).toEqual(new Map(alarms.map(({ id, at }) => [id, at.getTime()])));
    await driver.disarm(alarms.map(({ id }) => id));
    expect((await surveyed(driver)).size).toBe(abilities.disarms ? 0 : SURVEYED);
  });
}
