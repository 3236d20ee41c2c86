/**
 * The first SIGINT or SIGTERM asks to stop after what is under way; the second ends at once.
 * `told` says so to a person who would otherwise wonder.
 */
export function interruption(told: (line: string) => void): AbortSignal {
  return listen(told).signal;
}

/** The same for as long as this work takes: a command that asks something afterwards ends by Ctrl-C again. */
export async function whileInterruptible<T>(
  told: (line: string) => void,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, forget } = listen(told);
  return work(signal).finally(forget);
}

function listen(told: (line: string) => void): { signal: AbortSignal; forget: () => void } {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(130);
    told('Stopping after what is under way; press Ctrl-C again to stop at once');
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const forget = (): void => void process.off('SIGINT', stop).off('SIGTERM', stop);
  return { signal: controller.signal, forget };
}
