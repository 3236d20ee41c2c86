import { availableParallelism, loadavg } from 'node:os';

/** How many want each of this machine's cores: limits are for a machine of one's own. */
export function slowness(): number {
  return Math.max(1, Math.round((loadavg()[0] ?? 0) / availableParallelism()));
}
