const FIRST_MS = 5_000;
const GROWTH = 3;
const LONGEST_MS = 6 * 3_600_000;
/** Of all that failed at the same time not all come back at the same time. */
const JITTER = 0.2;
/** No webhook waits longer for its next attempt. */
export const LONGEST_BACKOFF_MS = LONGEST_MS * (1 + JITTER / 2);

/** How long after its nth attempt (from 1) a webhook is tried again: 5 s, 15 s, 45 s, ... 6 h. */
export function backoffMs(attempt: number, random = Math.random): number {
  const plain = Math.min(FIRST_MS * GROWTH ** (attempt - 1), LONGEST_MS);
  return Math.round(plain * (1 - JITTER / 2 + JITTER * random()));
}
