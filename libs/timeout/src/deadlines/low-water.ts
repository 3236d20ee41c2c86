/** Before every instant: what claims from here misses nothing, though it was due before 1970. */
export const EVERYTHING_MS = -Infinity;

/**
 * Where to begin to look for a kind's due deadlines, in milliseconds since the epoch. All before
 * it were gone when somebody looked, but what is gone stays in the index until no snapshot needs it:
 * with an old one open (a dump, a forgotten transaction), each claim would read all of it again.
 *
 * A deadline may still appear before the mark: it was committed after its instant, or put there by
 * hand. Whoever hears of it lowers the mark (a ring names its instant), who looks for what is missed
 * looks farther back where a transaction is open (late-commits.ts), a sweep looks at everything. Both
 * look beside the claims and lower it to what they have seen: claims that looked at everything for
 * them would be late by it, and what is late is looked for again.
 */
export class LowWater {
  #fromMs: number;
  readonly #looking = new Set<Look>();

  constructor(fromMs = EVERYTHING_MS) {
    this.#fromMs = fromMs;
  }

  /** As it is now. */
  get fromMs(): number {
    return this.#fromMs;
  }

  /** To be called before a claim, whose answer goes to {@link end}. */
  begin(): Look {
    const look = { fromMs: this.#fromMs, atMostMs: Infinity };
    this.#looking.add(look);
    return look;
  }

  /** `oldestMs`: nothing lay before it when the claim looked; undefined when the claim failed. */
  end(look: Look, oldestMs: number | undefined): void {
    this.#looking.delete(look);
    if (oldestMs === undefined) return;
    // A claim finds nothing before its mark, unless that was in the future: the clock was set back.
    if (oldestMs < look.fromMs) this.#fromMs = oldestMs;
    this.#fromMs = Math.max(this.#fromMs, Math.min(oldestMs, look.atMostMs));
  }

  /** The next claim looks from here at least, whatever those under way have found. */
  lower(toMs: number): void {
    this.#fromMs = Math.min(this.#fromMs, toMs);
    for (const look of this.#looking) look.atMostMs = Math.min(look.atMostMs, toMs);
  }
}

export interface Look {
  readonly fromMs: number;
  atMostMs: number;
}

/** The first instant of Postgres. What somebody has put at `-infinity` by hand is no instant, and due at none. */
const FIRST = `timestamptz '4714-11-24 00:00:00+00 BC'`;

/** A mark as SQL. One that is in the future is from before the clock was set back. */
export function since(mark: string): string {
  return `CASE WHEN ${mark} > now() OR ${mark} < ${FIRST} THEN ${FIRST} ELSE ${mark} END`;
}
