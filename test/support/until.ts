const PAUSE_MS = 20;
/** Nothing takes so long; a machine that others use as well may. */
const LIMIT_MS = 30_000;

/** Looks until `look` gives something truthy; for what other processes do in their own time. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  limitMs = LIMIT_MS,
): Promise<NonNullable<T>> {
  const giveUpAtMs = performance.now() + limitMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (performance.now() > giveUpAtMs) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
