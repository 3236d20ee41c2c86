import type { Random } from './random';

const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 30_000;

/** A receiver may ask for more patience than our own limit, but not for a day of it. */
const MAX_RETRY_AFTER_MS = 300_000;

/**
 * Doubles from 200 ms up to 30 s, half of it random so that a receiver coming back is not met by
 * everything at once. A receiver that says when to come back knows better: then only the jitter
 * is added.
 */
export function backoffMs(
  failures: number,
  retryAfter: string | undefined,
  nowMs: number,
  random: Random,
): number {
  const askedMs = retryAfterMs(retryAfter, nowMs);
  const doublings = askedMs === null ? Math.min(failures - 1, 20) : 0;
  const ceilingMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** doublings);
  return Math.round((askedMs ?? 0) + ceilingMs * (0.5 + random() / 2));
}

/** `Retry-After` is a number of seconds or an HTTP date; null = absent or unreadable. */
function retryAfterMs(retryAfter: string | undefined, nowMs: number): number | null {
  if (retryAfter === undefined) return null;
  const askedMs = /^\d+$/.test(retryAfter)
    ? Number(retryAfter) * 1000
    : Date.parse(retryAfter) - nowMs;
  return Number.isFinite(askedMs) ? Math.min(Math.max(0, askedMs), MAX_RETRY_AFTER_MS) : null;
}
