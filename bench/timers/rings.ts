import type { Alarm } from '@app/timeout';
import { percentile } from '../statistics';

export interface Lag {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly lost: number;
  readonly twice: number;
  /** From the instant of the last alarm to the last ring. */
  readonly lastMs: number;
}

/** Writes down when each alarm rang. */
export class Rings {
  readonly #rungAtMs = new Map<string, number[]>();

  constructor(private readonly nowMs: () => number) {}

  note(alarms: readonly Alarm[]): undefined {
    const atMs = this.nowMs();
    for (const { id } of alarms) {
      const rung = this.#rungAtMs.get(id);
      if (rung) rung.push(atMs);
      else this.#rungAtMs.set(id, [atMs]);
    }
  }

  /** Waits until all have rung; what has not so long after the last is due is lost. */
  async lagOf(alarms: readonly Alarm[], patienceMs: number): Promise<Lag> {
    const lastAtMs = Math.max(...alarms.slice(-1).map(({ at }) => at.getTime()));
    while (alarms.some(({ id }) => !this.#rungAtMs.has(id))) {
      if (this.nowMs() > lastAtMs + patienceMs) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const rung = alarms.flatMap(({ id, at }) => {
      const times = this.#rungAtMs.get(id);
      return times ? [{ lagMs: (times[0] as number) - at.getTime(), times }] : [];
    });
    const lags = rung.map(({ lagMs }) => lagMs);
    const ms = (p: number): number => Math.round(percentile(lags, p));
    return {
      ...{ p50: ms(50), p99: ms(99), max: ms(100) },
      lost: alarms.length - rung.length,
      twice: rung.filter(({ times }) => times.length > 1).length,
      lastMs: Math.round(Math.max(0, ...rung.map(({ times }) => times[0] as number)) - lastAtMs),
    };
  }
}
