/** Time as the sandbox sees it: milliseconds since 1970. Tests put their own in its place. */
export interface Clock {
  now(): number;
  /** Calls `run` once after the delay; the answer cancels it. */
  setTimer(run: () => void, delayMs: number): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer: (run, delayMs) => {
    // What keeps the process is its server; an answer that is held back is nobody's any more without it.
    const timer = setTimeout(run, delayMs).unref();
    return () => clearTimeout(timer);
  },
};

export function wait(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(resolve, delayMs);
  });
}
