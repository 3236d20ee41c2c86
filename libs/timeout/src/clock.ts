/** Tells the time. Injected, so that tests and skewed machines can be reasoned about. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/**
 * This machine's clock as it was when the process began, and run by the monotonic clock since: it
 * is never set, neither forth nor back. Where the machine sleeps, it may stand still meanwhile.
 */
export const monotonicClock: Clock = {
  nowMs: () => Math.round(performance.timeOrigin + performance.now()),
};
