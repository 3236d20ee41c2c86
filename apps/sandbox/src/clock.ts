/** Time as the sandbox sees it: milliseconds since 1970. Tests put their own in its place. */
export interface Clock {
  now(): number;
  /** Calls `run` once after the delay; the answer cancels it. */
  setTimer(run: () => void, delayMs: number): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer: (run, delayMs) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

export function wait(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(resolve, delayMs);
  });
}
