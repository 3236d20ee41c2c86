const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

/** The wait before attempt `attempt + 1`: 1 s, doubling, at most a minute. */
export function backoffMs(attempt: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, Math.min(attempt, 20) - 1));
}
