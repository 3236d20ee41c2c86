import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../clock';
import type { Alarm, OnRing, RingAgain, TimerAbilities, TimerDriver } from '../timer-driver';

/** What can happen to the place where a driver keeps its alarms. */
export interface DriverStore {
  /** At once, without a chance to save anything. */
  kill(): Promise<void>;
  /** Starts it again with what it had on disk. */
  start(): Promise<void>;
  /** It accepts connections and answers nothing. */
  freeze(): void;
  thaw(): void;
  /** It forgets everything. */
  flush(): Promise<void>;
  connections(): Promise<number>;
}

/** How a test wants its driver. */
export interface DriverWish {
  /** Drivers of one namespace share their alarms, those of two know nothing of each other. */
  readonly namespace: string;
  readonly databaseClock: Clock;
  readonly onError: (error: Error) => void;
  /** How long a call to its store may take; where nothing is said, as the product has it. */
  readonly callTimeoutMs?: number;
}

export interface DriverUnderTest {
  /** A driver as a process of its own would have it. */
  create(wish: DriverWish): TimerDriver;
  readonly abilities: TimerAbilities;
  /** The store of a durable driver, to be tampered with. */
  readonly store?: () => DriverStore;
}

/** What a test has to say to one alarm's ring. */
type Answer = { readonly ringAgainInMs: number } | undefined | void;

export const HOUR_MS = 3_600_000;
const LONGEST_LEAD_MS = 60_000;
/** Longer than a machine stands still. */
const PATIENT_MS = 30_000;

/** Opens drivers of one namespace for one test, and writes down what rings. */
export class Bench {
  readonly errors: Error[] = [];
  readonly rung: Alarm[] = [];
  readonly #namespace = randomUUID();
  readonly #drivers: TimerDriver[] = [];
  #waiting: { id: string; resolve: (alarm: Alarm) => void }[] = [];
  #waitingForError: ((error: Error) => void)[] = [];

  constructor(private readonly subject: DriverUnderTest) {}

  /** Where a store that says nothing for a while is not what a test is about. */
  openPatient(databaseClock: Clock = systemClock): TimerDriver {
    return this.open(databaseClock, { callTimeoutMs: PATIENT_MS });
  }

  open(
    databaseClock: Clock = systemClock,
    patience: Pick<DriverWish, 'callTimeoutMs'> = {},
  ): TimerDriver {
    const onError = (error: Error): void => {
      this.errors.push(error);
      for (const resolve of this.#waitingForError.splice(0)) resolve(error);
    };
    const wish = { namespace: this.#namespace, databaseClock, onError };
    const driver = this.subject.create({ ...wish, ...patience });
    this.#drivers.push(driver);
    return driver;
  }

  /** An `onRing` that writes down each ring once `answer` has had its say. */
  onRing(answer?: (alarm: Alarm) => Promise<Answer> | Answer): OnRing {
    return async (alarms) => {
      const again: RingAgain[] = [];
      const results = await Promise.allSettled(
        alarms.map(async (alarm) => {
          const result = await answer?.(alarm);
          if (result) again.push({ id: alarm.id, inMs: result.ringAgainInMs });
          this.#writeDown(alarm);
        }),
      );
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      return again;
    };
  }

  #writeDown(alarm: Alarm): void {
    this.rung.push(alarm);
    const [told, others] = [this.#waiting.filter(({ id }) => id === alarm.id), this.#waiting];
    this.#waiting = others.filter((waiter) => !told.includes(waiter));
    for (const { resolve } of told) resolve(alarm);
  }

  /** Resolves with the next ring of this id; ask before it can come. */
  ringOf(id: string): Promise<Alarm> {
    return new Promise((resolve) => this.#waiting.push({ id, resolve }));
  }

  /** Resolves with the next error that a driver tells of; ask before it can come. */
  nextError(): Promise<Error> {
    return new Promise((resolve) => this.#waitingForError.push(resolve));
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

/**
 * An alarm that is still to come when `act` on it has ended: due in `leadMs`, or later where the
 * machine stood still meanwhile. The alarms of earlier tries have other ids.
 */
export async function beforeDue(
  leadMs: number,
  act: (alarm: Alarm) => Promise<unknown>,
): Promise<Alarm> {
  for (let delayMs = leadMs; delayMs < LONGEST_LEAD_MS; delayMs *= 3) {
    const alarm = alarmIn(delayMs);
    await act(alarm);
    if (systemClock.nowMs() < alarm.at.getTime()) return alarm;
  }
  throw new Error('It was due each time before that had ended');
}

export async function surveyed(driver: TimerDriver): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for await (const { id, at } of (await driver.survey()).alarms()) found.set(id, at.getTime());
  return found;
}
