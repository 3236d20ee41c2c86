const PAUSE_MS = 20;

/** Looks until `look` gives something truthy; for what other processes do in their own time. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  limitMs = 10_000,
): Promise<NonNullable<T>> {
  const giveUpAtMs = performance.now() + limitMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (performance.now() > giveUpAtMs) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
