const LIMIT_MS = 300_000;

/**
 * Looks every `pollMs` until it is so. To look costs the machine that is measured something.
 * @throws after five minutes: what a benchmark waits for is nothing that could fail to come
 */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  pollMs = 100,
): Promise<void> {
  for (const startedMs = performance.now(); !(await isSo());) {
    if (performance.now() - startedMs > LIMIT_MS) throw new Error(`Not within 5 minutes: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
