import type { DueDeadline } from './deadline-handler';

/** What somebody holds is looked at again after this, and then twice as long each time, */
const FIRST_MS = 250;
/** so that it is handled soon after it is free, however long that took. */
const LONGEST_MS = 5_000;
/** Far longer than any pause. Another process may have handled it, of which nothing is heard here. */
const REMEMBERED_MS = 60_000;
/** A little memory; what is forgotten is found again. */
const MOST = 10_000;

/**
 * Subjects that would hold up others of their batch, as this process has found: somebody holds a
 * row that they need, or the handler was silent about them. They are tried alone. Not in their
 * rows: what is counted there holds them in the end, and this speaks against nobody.
 */
export class Suspects {
  /** Each one's last pause, and until when it is remembered, the oldest first. */
  readonly #known = new Map<string, { readonly pauseMs: number; readonly untilMs: number }>();

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  get areKnown(): boolean {
    const nowMs = this.nowMs();
    for (const [subjectId, { untilMs }] of this.#known) {
      if (untilMs > nowMs && this.#known.size <= MOST) return true;
      this.#known.delete(subjectId);
    }
    return false;
  }

  has({ subjectId }: DueDeadline): boolean {
    return this.#known.has(subjectId);
  }

  /** These as they are to be put back, by the database's clock. */
  putOff(due: readonly DueDeadline[], nowMs: number): DueDeadline[] {
    return due.map((one) => ({ ...one, dueAt: new Date(nowMs + this.#pauseMs(one)) }));
  }

  /** These have held up others. */
  add(suspected: readonly DueDeadline[]): void {
    for (const one of suspected) {
      const entry = { pauseMs: this.#pauseMs(one), untilMs: this.nowMs() + REMEMBERED_MS };
      this.#known.delete(one.subjectId);
      this.#known.set(one.subjectId, entry);
    }
  }

  /** Those of a batch that are not `aside` were handled: nothing is to be said of them any more. */
  forget(batch: readonly DueDeadline[], aside: readonly DueDeadline[]): void {
    if (this.#known.size === 0) return;
    const kept = new Set(aside);
    for (const one of batch) if (!kept.has(one)) this.#known.delete(one.subjectId);
  }

  #pauseMs({ subjectId }: DueDeadline): number {
    const last = this.#known.get(subjectId)?.pauseMs;
    return last === undefined ? FIRST_MS : Math.min(LONGEST_MS, 2 * last);
  }
}
