export interface EveryOptions {
  /** When the first turn comes; one interval from now unless given. */
  readonly firstAfterMs?: number;
  /** Told of a turn that failed; the next one comes all the same. */
  readonly onError: (error: unknown) => void;
}

/** Background work that takes turns until it is stopped. */
export interface Turns {
  /** No new turn from now on; resolves when the one under way, told by its signal, has ended. */
  stop(): Promise<void>;
}

/**
 * Does `runOnce` every `intervalMs`, one turn at a time: a turn that comes up while another is
 * under way is left out. Timers run on the monotonic clock, so a clock that is set changes nothing.
 */
export function every(
  intervalMs: number,
  runOnce: (stopping: AbortSignal) => Promise<unknown>,
  { firstAfterMs = intervalMs, onError }: EveryOptions,
): Turns {
  const stopping = new AbortController();
  let underWay: Promise<void> | undefined;
  const takeTurn = async (): Promise<void> => {
    try {
      await runOnce(stopping.signal);
    } catch (error) {
      onError(error);
    }
  };
  const tick = (): void => {
    underWay ??= takeTurn().finally(() => (underWay = undefined));
  };
  let timer = setTimeout(() => {
    timer = setInterval(tick, intervalMs);
    tick();
  }, firstAfterMs);
  return {
    async stop() {
      stopping.abort();
      clearInterval(timer);
      await underWay;
    },
  };
}
