/** A terminal's Ctrl-C comes from npm, too, where a shell between them (bash, zsh) has made room for the command. */
const SAME_SIGNAL_MS = 1_000;

/**
 * The first SIGINT or SIGTERM asks to stop after what is under way; the second ends at once.
 * `told` says so to a person who would otherwise wonder; another clock is for tests.
 */
export function interruption(
  told: (line: string) => void,
  nowMs: () => number = () => performance.now(),
): AbortSignal {
  return listen(told, nowMs).signal;
}

/** The same for as long as this work takes: a command that asks something afterwards ends by Ctrl-C again. */
export async function whileInterruptible<T>(
  told: (line: string) => void,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, forget } = listen(told, () => performance.now());
  return work(signal).finally(forget);
}

function listen(
  told: (line: string) => void,
  nowMs: () => number,
): { signal: AbortSignal; forget: () => void } {
  const controller = new AbortController();
  let firstAtMs = 0;
  const stop = (): void => {
    if (controller.signal.aborted) {
      if (nowMs() - firstAtMs > SAME_SIGNAL_MS) process.exit(130);
      return;
    }
    firstAtMs = nowMs();
    told('Stopping after what is under way; press Ctrl-C again to stop at once');
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const forget = (): void => void process.off('SIGINT', stop).off('SIGTERM', stop);
  return { signal: controller.signal, forget };
}
