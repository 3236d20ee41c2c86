import type { Config } from './schema';

/** What is late is looked for all the time: where sweeps are rarer than that, none of them has to come first. */
const LONGEST_WAIT_MS = 60_000;
/** One drain of a burst, beside the sweep that begins it. */
const DRAIN_ALLOWANCE_MS = 5_000;

/** How late something may be before it is told of. */
export function latenessLimitMs({ SWEEP_INTERVAL }: Pick<Config, 'SWEEP_INTERVAL'>): number {
  return Math.min(SWEEP_INTERVAL, LONGEST_WAIT_MS) + DRAIN_ALLOWANCE_MS;
}
