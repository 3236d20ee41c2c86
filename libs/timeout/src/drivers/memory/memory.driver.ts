import { type Clock, systemClock } from '../../clock';
import type { Alarm, OnRing, Survey, TimerAbilities, TimerDriver } from '../../timer-driver';
import { AlarmStoreError } from '../alarm-store.error';
import { type AlarmSource, RingLoop } from '../ring-loop';
import { AlarmHeap } from '../alarm-heap';

export interface MemoryDriverOptions {
  /** "Now" by the database. */
  readonly databaseClock?: Clock;
  /** Told of rings that failed. */
  readonly onError: (error: Error) => void;
}

export const MEMORY_ABILITIES: TimerAbilities = {
  scope: 'process',
  durable: false,
  dedupes: true,
  disarms: true,
  surveys: true,
  noticesLoss: true,
  precisionMs: 5,
};

/** A database's clock that is set is noticed within this time. */
const LONGEST_WAIT_MS = 1_000;

/**
 * Alarms in this process, for tests, demos and a single node: they end with it, and the sweep or
 * a backfill arms them again.
 */
export class MemoryDriver implements TimerDriver {
  readonly name = 'memory';
  readonly abilities = MEMORY_ABILITIES;
  readonly #heap = new AlarmHeap();
  readonly #loop: RingLoop;
  #stopped = false;

  constructor({ databaseClock: clock = systemClock, onError }: MemoryDriverOptions) {
    const source: AlarmSource = {
      take: async (nowMs, limit) => ({
        due: this.#heap.takeDue(nowMs, limit),
        nextAtMs: this.#heap.firstAtMs,
      }),
      putBack: async (again) => {
        if (this.#stopped) return;
        for (const { alarm, inMs } of again) this.#heap.add(alarm, clock.nowMs() + inMs);
      },
    };
    this.#loop = new RingLoop(source, { clock, onError, longestWaitMs: () => LONGEST_WAIT_MS });
  }

  async start(onRing: OnRing): Promise<void> {
    this.#refuseIfStopped();
    this.#loop.start(onRing);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop.stop();
    this.#heap.clear();
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    this.#refuseIfStopped();
    for (const alarm of alarms) this.#heap.add(alarm);
    const { firstAtMs } = this.#heap;
    if (firstAtMs !== undefined) this.#loop.lookAt(firstAtMs);
  }

  async disarm(ids: readonly string[]): Promise<void> {
    this.#refuseIfStopped();
    for (const id of ids) this.#heap.remove(id);
  }

  async survey(): Promise<Survey> {
    this.#refuseIfStopped();
    const heap = this.#heap;
    return {
      // Its data is lost with the process only, and whoever would compare with it.
      generation: 'memory',
      async *alarms() {
        yield* heap.alarms();
      },
    };
  }

  #refuseIfStopped(): void {
    if (this.#stopped) throw new AlarmStoreError('The memory driver was stopped');
  }
}
