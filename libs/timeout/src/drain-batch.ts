import { type BatchEntry, enterBatch } from './batch-entry';
import type { Claimant, DeadlineHandler, DueDeadline } from './deadline-handler';
import { claimDue, putBackDeadlines } from './deadlines';
import type { DrainParts } from './drain-parts';
import type { LowWater } from './low-water';
import type { Pace, Plan } from './pace';
import { pause } from './pause';
import { isSubjectsFault, setAside } from './subject-failure';
import { inTransaction, type Transaction } from './transaction';

/** What a drain did: `found = changed + lost + putBack`; `failed` were put aside with backoff. */
export interface DrainCounts {
  found: number;
  changed: number;
  lost: number;
  putBack: number;
  failed: number;
}

/**
 * After a batch: more may be due, or nothing more is. Or it did not begin: all turns are taken, an
 * operator has to look first (`braked`), or that has to be judged before anything (`unjudged`).
 */
export type BatchOutcome = 'more' | 'all' | 'no turn' | 'braked' | 'unjudged';

/** What a round asks of its batches. */
export interface Asked {
  readonly by: Claimant;
  /** Only what has been due for so long. */
  readonly overdueByMs: number;
}

/**
 * Somebody else holds the subject: look again after as long as they had it already, so that the
 * waits grow, whoever looks; most are done soon, and those who died are outlived in a few steps.
 */
const CONTENDED_RETRY_FIRST_MS = 100;
const CONTENDED_RETRY_MAX_MS = 800;

/** Handles one kind's due deadlines, a batch a transaction. */
export class DrainBatch {
  /** What handlers do after their commits, such as asking a provider. */
  readonly #afterwards = new Set<Promise<void>>();
  /** Locks on their way back. The next batch has other subjects, so it need not wait for them. */
  readonly #releasing = new Set<Promise<void>>();

  constructor(
    private readonly kind: string,
    private readonly handler: DeadlineHandler,
    private readonly parts: DrainParts,
    private readonly pace: Pace,
    private readonly lowWater: LowWater,
    private readonly maxFailures: number,
  ) {}

  /** Handles one batch, and adds to `total` what it did. */
  async handle({ by, overdueByMs }: Asked, total: DrainCounts): Promise<BatchOutcome> {
    const plan = this.pace.plan();
    let refused: BatchOutcome | undefined;
    let claimed: readonly DueDeadline[] = [];
    const claim = async (tx: Transaction): Promise<readonly DueDeadline[]> => {
      claimed = [];
      const { brake } = this.parts;
      const entry = await enterBatch(tx, this.kind, plan.drainers, brake.covers(this.kind));
      refused = this.#refusal(entry);
      if (refused) return claimed;
      // Having the turn, so that nobody else makes use of the rest.
      if (plan.restMs > 0) await pause(plan.restMs);
      claimed = await claimDue(tx, this.kind, plan.limit, overdueByMs, this.lowWater);
      // Whoever dies in this batch leaves it to that ring, not to a sweep.
      if (claimed.length > 0) this.parts.alarms.ringAgainSoon();
      const oldestMs = Math.min(...claimed.map(({ dueAt }) => dueAt.getTime()));
      if (claimed.length > 0) this.pace.claimed(entry.now.getTime() - oldestMs);
      return claimed;
    };
    try {
      const due = await this.#carryOut(by, plan, claim, total);
      if (refused) return refused;
      if (due.length > 0) this.#startAfterwards(due);
      return due.length === plan.limit ? 'more' : 'all';
    } catch (error) {
      if (!isSubjectsFault(error)) throw error;
      this.parts.telemetry.batchFailed(this.kind, plan.limit, error);
      if (plan.limit > 1) this.pace.failed(plan.limit);
      // The claim itself fails, also for one: no subject is to blame, and trying on would not end.
      else if (claimed.length === 0) throw error;
      else {
        for (const poisoned of claimed) {
          if (await setAside(this.parts, poisoned, error, this.maxFailures)) total.failed += 1;
        }
      }
      return 'more';
    }
  }

  /** Locks that are on their way back. */
  async released(): Promise<void> {
    await Promise.all(this.#releasing);
  }

  /** Waits for what follows commits; resolves at once when nothing does. */
  async followed(): Promise<void> {
    await Promise.all(this.#afterwards);
  }

  get isFollowing(): boolean {
    return this.#afterwards.size > 0;
  }

  #refusal(entry: BatchEntry): BatchOutcome | undefined {
    const { brake } = this.parts;
    if (brake.covers(this.kind)) {
      if (brake.isOnFor(entry)) return 'braked';
      if (brake.wantsToJudge(entry.now)) return 'unjudged';
    }
    return entry.hasTurn ? undefined : 'no turn';
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

  async #carryOut(
    by: Claimant,
    plan: Plan,
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
      if (due.length > 0) this.pace.took(plan, due.length, performance.now() - startedMs);
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
    const nowMs = this.parts.clock.nowMs();
    const later = (one: DueDeadline): DueDeadline => {
      const busyForMs = held.busyForMs?.get(keyOf.get(one) ?? '') ?? 0;
      const waitMs = Math.min(
        CONTENDED_RETRY_MAX_MS,
        Math.max(CONTENDED_RETRY_FIRST_MS, busyForMs),
      );
      return { ...one, dueAt: new Date(nowMs + waitMs) };
    };
    return {
      mine: due.filter(isMine),
      contended: due.filter((one) => !isMine(one)).map(later),
      giveBack: () => held.release(),
    };
  }
}
