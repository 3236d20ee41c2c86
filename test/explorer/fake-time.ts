import os from 'node:os';
import { DatabaseClock } from '@app/timeout';

/** Has all be as it was before: who comes after in this process is no part of the play. */
export type Undo = () => void;

/** The shop's time, moved by a program's steps alone. */
export class FakeTime {
  /** The database's clock, in milliseconds since the epoch. */
  nowMs = 0;
  /** What no clock setting moves. */
  uptimeMs = 0;
  readonly #timers = new Map<object, { readonly atMs: number; readonly fire: () => void }>();
  /** True: transactions have their ids as they begin, so that ids and commits differ in order. */
  earlyIds = false;
  /** How long a lock is waited for in transactions that a shop's own code is given; 0: as long as it takes. */
  hostsLockLimit: '0' | '1ms' = '0';

  pass(ms: number): void {
    this.nowMs += ms;
    this.uptimeMs += ms;
  }

  /** Has `fire` called by {@link fireDue} when so much time has passed, unless it is cleared before. */
  after(ms: number, fire: () => void): () => void {
    const timer = {};
    this.#timers.set(timer, { atMs: this.uptimeMs + ms, fire });
    return () => this.#timers.delete(timer);
  }

  fireDue(): void {
    for (const [timer, { atMs, fire }] of this.#timers) {
      if (atMs > this.uptimeMs) continue;
      this.#timers.delete(timer);
      fire();
    }
  }

  /** Nobody is left who waits. */
  forgetTimers(): void {
    this.#timers.clear();
  }

  /** Somebody sets the database's clock. */
  jump(ms: number): void {
    this.nowMs += ms;
  }
}

/** What the library of timeouts measures passes with the shop's time; no two readings are alike. */
export function instrumentMonotonicClock(time: FakeTime): Undo {
  const { now: before } = performance;
  const now = before.bind(performance);
  let readingsMs = 0;
  performance.now = () => {
    const caller = new Error().stack?.split('\n')[2];
    if (!caller?.includes('/libs/timeout/src/')) return now();
    readingsMs += 0.001;
    return time.uptimeMs + readingsMs;
  };
  return () => void (performance.now = before);
}

/** The estimate of the database's clock is exact, and machines run as long as the shop's time. */
export function instrumentClock(time: FakeTime): Undo {
  const { uptime } = os;
  const { nowMs, measure } = DatabaseClock.prototype;
  os.uptime = () => time.uptimeMs / 1_000;
  DatabaseClock.prototype.nowMs = () => time.nowMs;
  DatabaseClock.prototype.measure = async () => new Date(time.nowMs);
  return () => {
    os.uptime = uptime;
    Object.assign(DatabaseClock.prototype, { nowMs, measure });
  };
}
