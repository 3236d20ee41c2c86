import { type Clock, systemClock } from '../../clock';
import type { Alarm, OnRing, Survey, TimerDriver } from '../../timer-driver';
import { AlarmStoreError } from '../alarm-store.error';

/** The machine's timers, or a test's. */
export interface Timers {
  set(ring: () => void, delayMs: number): unknown;
  clear(timer: unknown): void;
}

export const systemTimers: Timers = {
  set: (ring, delayMs) => setTimeout(ring, delayMs),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

export interface MemoryDriverOptions {
  /** "Now" by the database. */
  readonly databaseClock?: Clock;
  readonly timers?: Timers;
  /** Told of rings that failed. */
  readonly onError: (error: Error) => void;
}

/** What a timer of Node can hold: it fires at once when asked to wait longer. */
export const LONGEST_WAIT_MS = 2 ** 31 - 1;

interface Entry {
  readonly alarm: Alarm;
  /** Absent while the driver is not started. */
  timer?: unknown;
}

/**
 * Alarms in this process, for tests, demos and a single node: they end with it, and the sweep or
 * a backfill arms them again.
 */
export class MemoryDriver implements TimerDriver {
  readonly name = 'memory';
  readonly #entries = new Map<string, Entry>();
  readonly #rings = new Set<Promise<void>>();
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #onError: (error: Error) => void;
  #onRing: OnRing | undefined;
  #stopped = false;

  constructor(options: MemoryDriverOptions) {
    this.#clock = options.databaseClock ?? systemClock;
    this.#timers = options.timers ?? systemTimers;
    this.#onError = options.onError;
  }

  async start(onRing: OnRing): Promise<void> {
    this.#refuseIfStopped();
    this.#onRing = onRing;
    for (const entry of this.#entries.values()) this.#wait(entry);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#entries.values()) this.#timers.clear(timer);
    this.#entries.clear();
    await Promise.all(this.#rings);
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    this.#refuseIfStopped();
    for (const alarm of alarms) {
      if (this.#entries.has(alarm.id)) continue;
      const entry: Entry = { alarm };
      this.#entries.set(alarm.id, entry);
      if (this.#onRing) this.#wait(entry);
    }
  }

  async disarm(ids: readonly string[]): Promise<void> {
    this.#refuseIfStopped();
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (!entry) continue;
      this.#timers.clear(entry.timer);
      this.#entries.delete(id);
    }
  }

  async survey(): Promise<Survey> {
    this.#refuseIfStopped();
    const entries = this.#entries;
    return {
      // Its data is lost with the process only, and whoever would compare with it.
      generation: 'memory',
      async *alarms() {
        for (const { alarm } of entries.values()) yield alarm;
      },
    };
  }

  /** Looks at the clock again after each wait: it may have been set back, or the wait cut short. */
  #wait(entry: Entry, notBeforeMs = entry.alarm.at.getTime()): void {
    const delayMs = Math.max(0, Math.ceil(notBeforeMs - this.#clock.nowMs()));
    entry.timer = this.#timers.set(
      () => {
        if (this.#clock.nowMs() < notBeforeMs) this.#wait(entry, notBeforeMs);
        else this.#ring(entry);
      },
      Math.min(delayMs, LONGEST_WAIT_MS),
    );
  }

  #ring({ alarm }: Entry): void {
    // Spent as soon as it rings: whoever arms it now means another ring.
    this.#entries.delete(alarm.id);
    const ring = this.#ringOnce(alarm).catch((error: unknown) => {
      // Dropped, like an alarm of any other driver: the sweep takes what it stood for.
      this.#onError(error instanceof Error ? error : new Error(String(error)));
    });
    this.#rings.add(ring);
    void ring.then(() => this.#rings.delete(ring));
  }

  async #ringOnce(alarm: Alarm): Promise<void> {
    const answer = await this.#onRing?.(alarm);
    if (!answer || this.#stopped || this.#entries.has(alarm.id)) return;
    const entry: Entry = { alarm };
    this.#entries.set(alarm.id, entry);
    this.#wait(entry, this.#clock.nowMs() + answer.ringAgainInMs);
  }

  #refuseIfStopped(): void {
    if (this.#stopped) throw new AlarmStoreError('The memory driver was stopped');
  }
}
