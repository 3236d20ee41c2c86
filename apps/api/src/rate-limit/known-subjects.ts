/** Withdrawn sessions are counted under the name they had for so long; nothing else comes of it. */
const KNOWN_MS = 150_000;
/** A few megabytes at the most; the oldest gives way. */
const MAX_KNOWN = 10_000;

/** Whose the sessions are that were looked up of late, by their tokens. */
export class KnownSubjects {
  readonly #known = new Map<string, { readonly subject: string; readonly untilMs: number }>();

  constructor(private readonly nowMs: () => number = Date.now) {}

  get(token: string): string | undefined {
    const known = this.#known.get(token);
    return known && known.untilMs > this.nowMs() ? known.subject : undefined;
  }

  set(token: string, subject: string): void {
    if (this.#known.size >= MAX_KNOWN) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    this.#known.delete(token);
    this.#known.set(token, { subject, untilMs: this.nowMs() + KNOWN_MS });
  }
}
