import { availableParallelism, loadavg } from 'node:os';

/** How many want each of this machine's cores: limits are for a machine of one's own. */
export function slowness(): number {
  return Math.max(1, Math.round((loadavg()[0] ?? 0) / availableParallelism()));
}

/** What is allowed to take so long on a machine of one's own, here: three times that at most. */
export function allowed(limit: number): number {
  return limit * Math.min(3, slowness());
}
