import type { DataSource } from 'typeorm';
import type { Alarms } from './alarms';
import type { Clock } from './clock';
import type { Claimant, DeadlineHandler, DueDeadline } from './deadline-handler';
import { claimDue, claimExactly, holdDeadline, putBackDeadlines } from './deadlines';
import type { Lock } from './lock';
import { failureBackoffMs, isSubjectsFault } from './subject-failure';
import type { TimeoutTelemetry } from './telemetry';
import { inTransaction, type Transaction } from './transaction';

export interface DrainOptions {
  /** Batches under way at once, each on a connection of its own. */
  readonly closers: number;
  /** A batch is sized so that its transaction takes about this long. */
  readonly targetBatchMs: number;
  /** After so many failures a subject is held for an operator. */
  readonly maxFailures: number;
}

export const drainDefaults: DrainOptions = { closers: 2, targetBatchMs: 20, maxFailures: 8 };

/** What a drain did: `found = changed + lost + putBack`; `failed` were put aside with backoff. */
export interface DrainCounts {
  found: number;
  changed: number;
  lost: number;
  putBack: number;
  failed: number;
}

/** Somebody else holds the subject: look again after this long. */
const CONTENDED_RETRY_MS = 100;
const FIRST_BATCH = 500;
/** Smaller ones would be all overhead, and slow everybody down more than they free. */
const SMALLEST_GROWN_BATCH = 250;

export interface DrainParts {
  /** A pool of its own, so that a burst of closing cannot starve the API. */
  readonly dataSource: DataSource;
  readonly lock: Lock;
  readonly alarms: Alarms;
  /** The database's clock, for when to look again. */
  readonly clock: Clock;
  readonly telemetry: TimeoutTelemetry;
}

/**
 * Empties one kind's due deadlines, batch after batch. One drain at a time in a process: rings
 * that arrive meanwhile share the one under way plus one more round.
 *
 * A batch that fails is tried again at half its size, down to the one subject that fails; that
 * one backs off and is held in the end, so that it cannot stop its neighbours.
 */
export class Drain {
  #current: Promise<DrainCounts> | undefined;
  #next: Promise<DrainCounts> | undefined;
  /** What the next round was asked for. */
  #asked: { readonly by: Claimant; readonly overdueByMs: number } | undefined;
  /** What handlers do after their commits, such as asking a provider. */
  readonly #afterwards = new Set<Promise<void>>();
  /** Locks on their way back. The next batch has other subjects, so it need not wait for them. */
  readonly #releasing = new Set<Promise<void>>();
  #batchSize: number;
  #isBursting = false;

  constructor(
    readonly kind: string,
    private readonly handler: DeadlineHandler,
    private readonly parts: DrainParts,
    private readonly options: DrainOptions,
  ) {
    this.#batchSize = Math.min(FIRST_BATCH, handler.maxBatch);
  }

  /** Handles everything that has been due for `overdueByMs`; resolves when nothing is left. */
  run(by: Claimant, overdueByMs = 0): Promise<DrainCounts> {
    if (!this.#current) return (this.#current = this.#round(by, overdueByMs));
    // The round under way may have looked already, so what rang now needs another one. Of those
    // who share it, the one who asked for the least overdue decides: a ring must not wait behind a
    // sweep that leaves fresh deadlines to the rings.
    if (!this.#asked || overdueByMs < this.#asked.overdueByMs) this.#asked = { by, overdueByMs };
    this.#next ??= this.#current.then(
      () => this.#follow(),
      () => this.#follow(),
    );
    return this.#next;
  }

  /** True while more is due than one batch takes. */
  get isBursting(): boolean {
    return this.#isBursting;
  }

  /** Waits for the drain under way and for what follows its commits; errors are its caller's. */
  async idle(): Promise<void> {
    while (this.#current || this.#afterwards.size > 0) {
      await Promise.allSettled([this.#current, this.#next, ...this.#afterwards]);
    }
  }

  #follow(): Promise<DrainCounts> {
    const { by, overdueByMs } = this.#asked as { by: Claimant; overdueByMs: number };
    this.#next = this.#asked = undefined;
    return (this.#current = this.#round(by, overdueByMs));
  }

  async #round(by: Claimant, overdueByMs: number): Promise<DrainCounts> {
    const total: DrainCounts = { found: 0, changed: 0, lost: 0, putBack: 0, failed: 0 };
    const closer = async (): Promise<void> => {
      while (await this.#batch(by, overdueByMs, total)) continue;
    };
    try {
      // The second closer starts only when the first found a full batch: an idle ring costs one query.
      if (await this.#batch(by, overdueByMs, total)) {
        this.#isBursting = true;
        await Promise.all(Array.from({ length: this.options.closers }, closer));
      }
      return total;
    } finally {
      this.#isBursting = false;
      await Promise.all(this.#releasing);
      this.#current = undefined;
    }
  }

  /** Handles one batch; true when there may be more. */
  async #batch(by: Claimant, overdueByMs: number, total: DrainCounts): Promise<boolean> {
    const limit = this.#batchSize;
    let claimed: readonly DueDeadline[] = [];
    const claim = async (tx: Transaction): Promise<readonly DueDeadline[]> =>
      (claimed = await claimDue(tx, this.kind, limit, overdueByMs));
    try {
      const due = await this.#handle(by, claim, total);
      if (due.length > 0) this.#startAfterwards(due);
      return due.length === limit;
    } catch (error) {
      if (!isSubjectsFault(error)) throw error;
      this.parts.telemetry.batchFailed(this.kind, limit, error);
      if (limit > 1)
        this.#batchSize = Math.max(1, Math.min(this.#batchSize, Math.floor(limit / 4)));
      // The claim itself fails, also for one: no subject is to blame, and trying on would not end.
      else if (claimed.length === 0) throw error;
      else for (const poisoned of claimed) await this.#setAside(poisoned, error, total);
      return true;
    }
  }

  /** Not waited for: a provider that takes its time must not hold up rings and sweeps. */
  #startAfterwards(due: readonly DueDeadline[]): void {
    if (!this.handler.afterCommit) return;
    const work = this.handler
      .afterCommit(due)
      .catch((error: unknown) => this.parts.telemetry.failed(`after ${this.kind}`, error))
      .finally(() => this.#afterwards.delete(work));
    this.#afterwards.add(work);
  }

  async #handle(
    by: Claimant,
    claim: (tx: Transaction) => Promise<readonly DueDeadline[]>,
    total: DrainCounts,
  ): Promise<readonly DueDeadline[]> {
    let release = async (): Promise<void> => undefined;
    try {
      let startedMs = 0;
      const due = await inTransaction(this.parts.dataSource, async (tx) => {
        await release(); // of an attempt that was rolled back
        const due = await claim(tx);
        if (due.length === 0) return due;
        const { mine, contended, giveBack } = await this.#lockAll(due);
        release = giveBack;
        startedMs = performance.now();
        const result = await this.handler.handle(mine, tx, by);
        const putBack = [...(result.putBack ?? []), ...contended];
        await putBackDeadlines(tx, putBack);
        tx.afterCommit(() => {
          this.parts.alarms.ensure(putBack);
          total.found += due.length;
          total.changed += result.changed;
          total.lost += result.lost;
          total.putBack += putBack.length;
        });
        return due;
      });
      // From the first row it locked to its commit: the time for which a customer may have to wait.
      if (due.length > 0) this.#resize(due.length, performance.now() - startedMs);
      return due;
    } finally {
      const releasing = release().finally(() => this.#releasing.delete(releasing));
      this.#releasing.add(releasing);
    }
  }

  async #lockAll(due: readonly DueDeadline[]): Promise<{
    mine: readonly DueDeadline[];
    contended: readonly DueDeadline[];
    giveBack: () => Promise<void>;
  }> {
    const keyOf = new Map(due.map((one) => [one, this.handler.lockKey(one.subjectId)]));
    const keys = [...new Set([...keyOf.values()].filter((key) => key !== undefined))];
    if (keys.length === 0) return { mine: due, contended: [], giveBack: async () => undefined };
    const held = await this.parts.lock.acquireFree(keys);
    this.parts.telemetry.locked(held.outcome);
    const isMine = (one: DueDeadline): boolean => {
      const key = keyOf.get(one);
      return key === undefined || held.keys.has(key);
    };
    const again = new Date(this.parts.clock.nowMs() + CONTENDED_RETRY_MS);
    return {
      mine: due.filter(isMine),
      contended: due.filter((one) => !isMine(one)).map((one) => ({ ...one, dueAt: again })),
      giveBack: () => held.release(),
    };
  }

  /** This subject fails on its own: it backs off, and is held in the end. */
  async #setAside(poisoned: DueDeadline, error: unknown, total: DrainCounts): Promise<void> {
    await inTransaction(this.parts.dataSource, async (tx) => {
      if (!(await claimExactly(tx, poisoned))) return;
      const failures = poisoned.failures + 1;
      if (failures >= this.options.maxFailures) {
        await holdDeadline(tx, poisoned, String(error));
        tx.afterCommit(() =>
          this.parts.telemetry.deadlineHeld(this.kind, poisoned.subjectId, error),
        );
      } else {
        const dueAt = new Date(this.parts.clock.nowMs() + failureBackoffMs(failures));
        const later = { ...poisoned, dueAt, failures };
        await putBackDeadlines(tx, [later]);
        tx.afterCommit(() => this.parts.alarms.ensure([later]));
      }
      total.failed += 1;
    });
  }

  /** Steers the batch towards the target duration, within its bounds. */
  #resize(size: number, tookMs: number): void {
    if (size < this.#batchSize) return;
    const fitting = Math.round(
      size * Math.min(2, Math.max(0.5, this.options.targetBatchMs / tookMs)),
    );
    const floor = Math.min(SMALLEST_GROWN_BATCH, size * 2);
    this.#batchSize = Math.min(this.handler.maxBatch, Math.max(floor, fitting, 1));
  }
}
