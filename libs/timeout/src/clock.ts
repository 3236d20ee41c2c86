/** Tells the time. Injected, so that tests and skewed machines can be reasoned about. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };
