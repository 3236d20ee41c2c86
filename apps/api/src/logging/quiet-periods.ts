const PERIOD_MS = 5_000;
/** Subjects come from our own code; the bound is there should one of them ever carry an id. */
const MAX_SUBJECTS = 200;

/** Lets each subject speak once a period: an outage says the same thousands of times a second. */
export class QuietPeriods {
  readonly #subjects = new Map<string, { untilMs: number; unsaid: number }>();

  /** `nowMs`: monotonic. */
  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** How often `subject` was kept quiet since it last spoke; undefined: keep quiet now. */
  unsaidBefore(subject: string): number | undefined {
    const now = this.nowMs();
    const known = this.#subjects.get(subject);
    if (known && known.untilMs > now) {
      known.unsaid += 1;
      return undefined;
    }
    if (!known && this.#subjects.size >= MAX_SUBJECTS) this.#subjects.clear();
    this.#subjects.set(subject, { untilMs: now + PERIOD_MS, unsaid: 0 });
    return known?.unsaid ?? 0;
  }
}
