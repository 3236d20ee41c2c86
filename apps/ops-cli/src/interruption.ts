/**
 * The first SIGINT or SIGTERM asks to stop after what is under way; the second ends at once.
 * `told` says so to a person who would otherwise wonder.
 */
export function interruption(told: (line: string) => void): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(130);
    told('Stopping after what is under way; press Ctrl-C again to stop at once');
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return controller.signal;
}
