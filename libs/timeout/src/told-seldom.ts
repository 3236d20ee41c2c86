const TOLD_EVERY_MS = 60_000;
/** Texts that each name another subject: what is remembered of them ends somewhere. */
const MAX_REMEMBERED = 1_000;

/**
 * Tells the same text once a minute, and then how often it was left out: a store that is away fails several times a
 * second, and a log would hear of nothing else.
 * @param uptimeMs a monotonic clock
 */
export function toldSeldom(
  tell: (text: string) => void,
  uptimeMs = () => performance.now(),
): (text: string) => void {
  const told = new Map<string, { readonly atMs: number; leftOut: number }>();
  return (text) => {
    const atMs = uptimeMs();
    const before = told.get(text);
    if (before && atMs - before.atMs < TOLD_EVERY_MS) {
      before.leftOut += 1;
      return;
    }
    // Maps keep their order: the first is the one that was told of longest ago.
    told.delete(text);
    const [oldest] = told.size < MAX_REMEMBERED ? [] : told.keys();
    if (oldest !== undefined) told.delete(oldest);
    told.set(text, { atMs, leftOut: 0 });
    const leftOut = before?.leftOut ?? 0;
    tell(leftOut > 0 ? `${text} (and ${leftOut} times before that, since it was told of)` : text);
  };
}
