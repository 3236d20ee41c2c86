import type { DueDeadline } from '../deadlines/deadline-handler';

/** What somebody holds is looked at again after this, and then twice as long each time, */
const FIRST_MS = 250;
/** so that it is handled soon after it is free, however long that took. */
const LONGEST_MS = 5_000;
/** Of thousands so many a second: each look may wait for a lock, and the others of the kind for that. */
const LOOKS_A_SECOND = 100;
/** But none waits longer than half a minute: whoever knows of it may have ended by then, and others find it by this. */
const LONGEST_TURN_MS = 24_000;
/** Not all of them at one instant. */
const SPREAD = 0.5;
/** Longer than its pause. Another process may have handled it, of which nothing is heard here. */
const REMEMBERED_MS = 60_000;
/** Some megabytes; what is forgotten is found again. */
const MOST = 50_000;
/** Where one is free again, so many others may be: few enough to look at where they are not. */
const FOR_EACH_FREE = 8;

interface Known {
  /** As it was put off, the last time. */
  readonly due: DueDeadline;
  readonly pauseMs: number;
  /** When it was looked at, the last time. */
  readonly lookedMs: number;
  readonly untilMs: number;
}

/**
 * Subjects that would hold up others of their batch, as this process has found: somebody holds a
 * row that they need, or the handler was silent about them. They are tried alone. Not in their
 * rows: what is counted there holds them in the end, and this speaks against nobody.
 */
export class Suspects {
  /** Those that have waited the longest, first. */
  readonly #known = new Map<string, Known>();

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

  /** In the order in which to look at them: first who has waited the longest, for what its pause is. */
  inTurn(suspected: readonly DueDeadline[]): DueDeadline[] {
    const nowMs = this.nowMs();
    const waited = ({ subjectId }: DueDeadline): number => {
      const known = this.#known.get(subjectId);
      return known ? (nowMs - known.lookedMs) / known.pauseMs : 0;
    };
    return [...suspected].sort((one, other) => waited(other) - waited(one));
  }

  /** These have been found held: as they are to be put back, by the database's clock. */
  putOff(held: readonly DueDeadline[], nowMs: number): DueDeadline[] {
    return held.map((one) => ({
      ...one,
      dueAt: new Date(nowMs + Math.max(this.#pauseMs(one), this.#turnMs())),
    }));
  }

  /** These were not tried: as they are to be put back, soon where they are few. */
  putBack(left: readonly DueDeadline[], nowMs: number): DueDeadline[] {
    return left.map((one) => {
      const inMs = this.has(one) ? Math.max(FIRST_MS, this.#turnMs()) : FIRST_MS;
      return { ...one, dueAt: new Date(nowMs + inMs) };
    });
  }

  /** These have held up others. They are in the table as they are given; `nowMs` is the database's clock. */
  add(suspected: readonly DueDeadline[], nowMs: number): void {
    for (const due of suspected) {
      const looked = { pauseMs: this.#pauseMs(due), lookedMs: this.nowMs() };
      this.#keep({ due, ...looked, untilMs: this.#untilMs(due, nowMs) });
    }
  }

  /** These were not tried, and are in the table as they are given; `nowMs`: as above. */
  moved(these: readonly DueDeadline[], nowMs: number): void {
    for (const due of these) {
      const known = this.#known.get(due.subjectId);
      if (known) this.#keep({ ...known, due, untilMs: this.#untilMs(due, nowMs) });
    }
  }

  /**
   * Others to look at as well, as these of a batch turned out to be free: whoever held them has let go of
   * one after the other, or of all at once. Those that are due by `nowMs`, the database's clock, are looked at anyway.
   */
  alsoFree(free: readonly DueDeadline[], nowMs: number): DueDeadline[] {
    const known = free.filter((one) => this.has(one));
    const [found, most] = [[] as DueDeadline[], known.length * FOR_EACH_FREE];
    if (most === 0) return found;
    const batch = new Set(known.map(({ subjectId }) => subjectId));
    for (const [subjectId, { due }] of this.#known) {
      if (found.length === most) break;
      if (!batch.has(subjectId) && due.dueAt.getTime() > nowMs) found.push(due);
    }
    return found;
  }

  /** These were handled: nothing is to be said of them any more. */
  forget(handled: readonly DueDeadline[]): void {
    for (const { subjectId } of handled) this.#known.delete(subjectId);
  }

  #keep(known: Known): void {
    const { subjectId } = known.due;
    this.#known.delete(subjectId);
    this.#known.set(subjectId, known);
  }

  #untilMs({ dueAt }: DueDeadline, nowMs: number): number {
    return this.nowMs() + Math.max(0, dueAt.getTime() - nowMs) + REMEMBERED_MS;
  }

  #turnMs(): number {
    const allMs = (this.#known.size * 1_000) / LOOKS_A_SECOND;
    return Math.min(LONGEST_TURN_MS, allMs) * (1 + SPREAD * (Math.random() - 0.5));
  }

  #pauseMs({ subjectId }: DueDeadline): number {
    const last = this.#known.get(subjectId)?.pauseMs;
    return last === undefined ? FIRST_MS : Math.min(LONGEST_MS, 2 * last);
  }
}
