import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../clock';
import type { Alarm, OnRing, RingAnswer, TimerDriver } from '../timer-driver';
import { describeStoreFaults, type DriverStore } from './driver-store.contract';

/** How a test wants its driver. */
export interface DriverWish {
  /** Drivers of one namespace share their alarms, those of two know nothing of each other. */
  readonly namespace: string;
  readonly databaseClock: Clock;
  readonly onError: (error: Error) => void;
}

export interface DriverUnderTest {
  /** A driver as a process of its own would have it. */
  create(wish: DriverWish): TimerDriver;
  readonly abilities: {
    /** Alarms live outside the process: they outlast it, and its siblings see them. */
    readonly durable: boolean;
  };
  /** The store of a durable driver, to be tampered with. */
  readonly store?: () => DriverStore;
}

const HOUR_MS = 3_600_000;
const SURVEYED = 5_000;

/** Opens drivers of one namespace for one test, and writes down what rings. */
export class Bench {
  readonly errors: Error[] = [];
  readonly rung: Alarm[] = [];
  readonly #namespace = randomUUID();
  readonly #drivers: TimerDriver[] = [];
  #waiting: { id: string; resolve: (alarm: Alarm) => void }[] = [];

  constructor(private readonly subject: DriverUnderTest) {}

  open(databaseClock: Clock = systemClock): TimerDriver {
    const onError = (error: Error): void => void this.errors.push(error);
    const driver = this.subject.create({ namespace: this.#namespace, databaseClock, onError });
    this.#drivers.push(driver);
    return driver;
  }

  /** An `onRing` that writes down the ring once `answer` has had its say. */
  onRing(answer?: (alarm: Alarm) => Promise<RingAnswer> | RingAnswer | void): OnRing {
    return async (alarm) => {
      const result = (await answer?.(alarm)) ?? undefined;
      this.rung.push(alarm);
      const [told, others] = [this.#waiting.filter(({ id }) => id === alarm.id), this.#waiting];
      this.#waiting = others.filter((waiter) => !told.includes(waiter));
      for (const { resolve } of told) resolve(alarm);
      return result;
    };
  }

  /** Resolves with the next ring of this id; ask before it can come. */
  ringOf(id: string): Promise<Alarm> {
    return new Promise((resolve) => this.#waiting.push({ id, resolve }));
  }

  timesRung(id: string): number {
    return this.rung.filter((alarm) => alarm.id === id).length;
  }

  async close(): Promise<void> {
    await Promise.all(this.#drivers.splice(0).map((driver) => driver.stop()));
  }
}

export function alarmIn(delayMs: number, id = `test-${randomUUID()}`, clock = systemClock): Alarm {
  return { id, at: new Date(clock.nowMs() + delayMs) };
}

export async function surveyed(driver: TimerDriver): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const { id, at } of (await driver.survey()).alarms()) found.set(id, at.getTime());
  return found;
}

/** What every implementation of `TimerDriver` does. Call it in the implementation's spec. */
export function describeTimerDriver(name: string, subject: DriverUnderTest): void {
  describe(`${name}: the contract of every timer driver`, () => {
    let bench: Bench;
    beforeEach(() => {
      bench = new Bench(subject);
    });
    afterEach(() => bench.close());

    describeRinging(() => bench);
    describeClocks(() => bench);
    describeLifeCycle(() => bench, subject.abilities.durable ? it : it.skip);
    describeBookkeeping(() => bench);
    describeStoreFaults(() => bench, subject.store);
  });
}

function describeRinging(bench: () => Bench): void {
  it('rings each alarm once, with its instant, and never early', async () => {
    const driver = bench().open();
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
    const driver = bench().open();
    await driver.start(bench().onRing());
    const alarm = alarmIn(-HOUR_MS);
    const ring = bench().ringOf(alarm.id);
    await driver.arm([alarm]);
    expect(await ring).toEqual(alarm);
  });

  it('rings once what was armed twice', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    const [twice, fence] = [alarmIn(60), alarmIn(150)];
    const ring = bench().ringOf(fence.id);
    await Promise.all([driver.arm([twice, fence]), driver.arm([twice, twice])]);
    await driver.arm([{ id: twice.id, at: new Date(twice.at.getTime() + 30) }]);
    await ring;
    expect(bench().timesRung(twice.id)).toBe(1);
  });

  it('rings again what was armed again after its ring', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    const id = `test-${randomUUID()}`;
    for (const times of [1, 2]) {
      const [alarm, fence] = [alarmIn(20, id), alarmIn(100)];
      const ring = bench().ringOf(fence.id);
      await driver.arm([alarm, fence]);
      await ring;
      expect(bench().timesRung(id)).toBe(times);
    }
  });

  it('rings an earlier alarm first although it was armed later', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    const [later, earlier] = [alarmIn(200), alarmIn(80)];
    const ring = bench().ringOf(later.id);
    await driver.arm([later]);
    await driver.arm([earlier]);
    await ring;
    expect(bench().rung).toEqual([earlier, later]);
  });

  it('keeps an alarm that is farther away than 2^31 ms, and does not ring it', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    const far = [alarmIn(2 ** 31 + 1_000), alarmIn(60 * 24 * HOUR_MS)];
    const fence = alarmIn(80);
    const ring = bench().ringOf(fence.id);
    await driver.arm([...far, fence]);
    await ring;
    expect(bench().rung).toEqual([fence]);
    expect(await surveyed(driver)).toEqual(new Map(far.map(({ id, at }) => [id, at.getTime()])));
  });

  it('rings again after as long as the ring has asked for', async () => {
    const driver = bench().open();
    const rungAtMs: number[] = [];
    await driver.start(
      bench().onRing(() => {
        rungAtMs.push(Date.now());
        return rungAtMs.length < 3 ? { ringAgainInMs: 50 } : undefined;
      }),
    );
    const [alarm, fence] = [alarmIn(20), alarmIn(400)];
    const end = bench().ringOf(fence.id);
    await driver.arm([alarm, fence]);
    await end;
    expect(bench().rung).toEqual([alarm, alarm, alarm, fence]);
    expect((rungAtMs[2] as number) - (rungAtMs[0] as number)).toBeGreaterThanOrEqual(100);
  });

  it('lets no failed ring stop the others, and tells of it', async () => {
    const driver = bench().open();
    const [bad, good] = [alarmIn(30), alarmIn(90)];
    await driver.start(
      bench().onRing((alarm) => {
        if (alarm.id === bad.id) throw new Error('this ring fails');
      }),
    );
    const ring = bench().ringOf(good.id);
    await driver.arm([bad, good]);
    await ring;
    expect(bench().errors.map(({ message }) => message)).toEqual(['this ring fails']);
  });

  it('rings others while a ring takes its time', async () => {
    const driver = bench().open();
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

function describeClocks(bench: () => Bench): void {
  it.each([
    ['ahead of', 5 * 60_000],
    ['behind', -5 * 60_000],
  ])("rings by the database's clock when it is %s this machine's", async (_, offsetMs) => {
    const clock: Clock = { nowMs: () => Date.now() + offsetMs };
    const driver = bench().open(clock);
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
    const driver = bench().open(clock);
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

function describeLifeCycle(bench: () => Bench, durably: jest.It): void {
  it('arms without ringing, and rings when it is started', async () => {
    const driver = bench().open();
    const alarm = alarmIn(30);
    await driver.arm([alarm]);
    expect((await surveyed(driver)).size).toBe(1);
    const ring = bench().ringOf(alarm.id);
    await driver.start(bench().onRing());
    expect(await ring).toEqual(alarm);
  });

  durably('rings what another process has armed', async () => {
    const [armer, ringer] = [bench().open(), bench().open()];
    await ringer.start(bench().onRing());
    const alarm = alarmIn(50);
    const ring = bench().ringOf(alarm.id);
    await armer.arm([alarm]);
    expect(await ring).toEqual(alarm);
  });

  durably('rings once with two processes listening', async () => {
    const [one, other] = [bench().open(), bench().open()];
    await Promise.all([one.start(bench().onRing()), other.start(bench().onRing())]);
    const alarms = Array.from({ length: 50 }, () => alarmIn(60));
    const rings = Promise.all(alarms.map(({ id }) => bench().ringOf(id)));
    await one.arm(alarms);
    await rings;
    expect(bench().rung).toHaveLength(alarms.length);
  });

  durably('rings after a restart what was armed before it', async () => {
    const before = bench().open();
    await before.start(bench().onRing());
    const alarms = [alarmIn(100), alarmIn(250)];
    await before.arm(alarms);
    await before.stop();
    const rings = Promise.all(alarms.map(({ id }) => bench().ringOf(id)));
    await bench().open().start(bench().onRing());
    expect(await rings).toEqual(alarms);
    expect(bench().rung).toEqual(alarms);
  });

  it('stops before it was started, and twice', async () => {
    const driver = bench().open();
    await driver.stop();
    await expect(driver.stop()).resolves.toBeUndefined();
    await expect(driver.arm([alarmIn(0)])).rejects.toThrow('stopped');
    await expect(driver.start(bench().onRing())).rejects.toThrow('stopped');
  });

  it('waits, when stopped, for the ring under way, and rings no more', async () => {
    const driver = bench().open();
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
    const stopped = driver.stop().then(() => story.push('stopped'));
    setImmediate(finish);
    await stopped;
    expect(story).toEqual(['ring ended', 'stopped']);
  });
}

function describeBookkeeping(bench: () => Bench): void {
  it('does not ring what was disarmed, and ignores ids it does not know', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    const [gone, fence] = [alarmIn(60), alarmIn(120)];
    const ring = bench().ringOf(fence.id);
    await driver.arm([gone, fence]);
    await driver.disarm([gone.id, `test-${randomUUID()}`]);
    await ring;
    expect(bench().rung).toEqual([fence]);
  });

  it('arms again what was disarmed', async () => {
    const driver = bench().open();
    await driver.start(bench().onRing());
    const alarm = alarmIn(60);
    const ring = bench().ringOf(alarm.id);
    await driver.arm([{ id: alarm.id, at: new Date(alarm.at.getTime() + HOUR_MS) }]);
    await driver.disarm([alarm.id]);
    await driver.arm([alarm]);
    expect(await ring).toEqual(alarm);
  });

  it('does nothing when asked to arm or disarm nothing', async () => {
    const driver = bench().open();
    await driver.arm([]);
    await driver.disarm([]);
    expect((await surveyed(driver)).size).toBe(0);
  });

  it(`surveys ${SURVEYED} alarms, and the same generation each time`, async () => {
    const driver = bench().open();
    const alarms = Array.from({ length: SURVEYED }, (_, index) => alarmIn(HOUR_MS + index));
    await driver.arm(alarms);
    expect(await surveyed(driver)).toEqual(new Map(alarms.map(({ id, at }) => [id, at.getTime()])));
    const [first, second] = [await driver.survey(), await bench().open().survey()];
    expect(first.generation).toBe(second.generation);
    await driver.disarm(alarms.map(({ id }) => id));
    expect((await surveyed(driver)).size).toBe(0);
  });
}
