import { pause } from '../pause';

export interface Pace {
  /** By `performance.now()`. */
  readonly startedMs: number;
  readonly ratePerSecond: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** So long it rests at the most before it looks whether it is told to stop. */
const TICK_MS = 250;

/** Rests until so much may have been done since the start; no longer than until the signal. */
export async function keepToRate(done: number, pace: Pace): Promise<void> {
  const { startedMs, ratePerSecond, signal } = pace;
  if (ratePerSecond === undefined) return;
  const dueMs = startedMs + (done / ratePerSecond) * 1_000;
  for (let left = dueMs - performance.now(); left > 0; left = dueMs - performance.now()) {
    if (signal?.aborted) return;
    await pause(Math.min(left, TICK_MS));
  }
}
