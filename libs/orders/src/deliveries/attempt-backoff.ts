const FIRST_MS = 5_000;
const GROWTH = 3;
const LONGEST_MS = 6 * 3_600_000;
/** Of all that failed at the same time not all come back at the same time. */
const JITTER = 0.2;
/** No webhook waits longer for its next attempt. */
export const LONGEST_BACKOFF_MS = LONGEST_MS * (1 + JITTER / 2);

const TRIED_FOR_DAYS = 3;
/** SQL: so long a webhook is tried, and waits for an endpoint that is off. */
export const RETRY_FOR = `${TRIED_FOR_DAYS} days`;

/**
 * The last attempt: the next one would come after three days of waiting in between. No clock tells whether they have
 * passed, as it may be ahead, or nobody have asked for days.
 */
export const LAST_ATTEMPT = lastWithin(TRIED_FOR_DAYS * 86_400_000);

/** How long after its nth attempt (from 1) a webhook is tried again: 5 s, 15 s, 45 s, ... 6 h. */
export function backoffMs(attempt: number, random = Math.random): number {
  return Math.round(plainMs(attempt) * (1 - JITTER / 2 + JITTER * random()));
}

function plainMs(attempt: number): number {
  return Math.min(FIRST_MS * GROWTH ** (attempt - 1), LONGEST_MS);
}

function lastWithin(limitMs: number): number {
  let attempt = 1;
  for (let waitedMs = plainMs(1); waitedMs <= limitMs; waitedMs += plainMs(attempt)) attempt += 1;
  return attempt;
}
