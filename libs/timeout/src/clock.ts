/** Tells the time. Injected, so that tests and skewed machines can be reasoned about. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
}

/** A clock that has to be compared with another one now and then. */
export interface MeasuredClock extends Clock {
  /** Compares it when that was never done, or long ago. Rejects when the other one is away. */
  freshen(): Promise<void>;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/**
 * This machine's clock as it was when the process began, and run by the monotonic clock since: it
 * is never set, neither forth nor back. Where the machine sleeps, it may stand still meanwhile.
 */
export const monotonicClock: Clock = {
  nowMs: () => Math.round(performance.timeOrigin + performance.now()),
};
