const PERIOD_MS = 5_000;
/** Subjects of our own code are few; one that names where a request came from may be anything. */
const MAX_SUBJECTS = 200;

interface Quiet {
  untilMs: number;
  unsaid: number;
}

/** Lets each subject speak once a period: an outage says the same thousands of times a second. */
export class QuietPeriods {
  readonly #subjects = new Map<string, Quiet>();
  /** All for which there is no room: they speak as one, with what is unsaid of those that made room. */
  readonly #others: Quiet = { untilMs: -Infinity, unsaid: 0 };

  /** `nowMs`: monotonic. */
  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** How often `subject` was kept quiet since it last spoke; undefined: keep quiet now. */
  unsaidBefore(subject: string): number | undefined {
    const now = this.nowMs();
    const known = this.#find(subject, now);
    if (known.untilMs > now) {
      known.unsaid += 1;
      return undefined;
    }
    const { unsaid } = known;
    Object.assign(known, { untilMs: now + PERIOD_MS, unsaid: 0 });
    return unsaid;
  }

  #find(subject: string, now: number): Quiet {
    const known = this.#subjects.get(subject);
    if (known) return known;
    if (this.#subjects.size >= MAX_SUBJECTS) this.#makeRoom(now);
    if (this.#subjects.size >= MAX_SUBJECTS) return this.#others;
    const unheard = { untilMs: -Infinity, unsaid: 0 };
    this.#subjects.set(subject, unheard);
    return unheard;
  }

  #makeRoom(now: number): void {
    for (const [subject, { untilMs, unsaid }] of this.#subjects) {
      if (untilMs > now) continue;
      this.#others.unsaid += unsaid;
      this.#subjects.delete(subject);
    }
  }
}
