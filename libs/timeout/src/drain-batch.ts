import { type BatchEntry, enterBatch } from './batch-entry';
import { claimSome } from './claim-some';
import type { Claimant, DeadlineHandler, DueDeadline } from './deadline-handler';
import { claimDue, claimExactly, putBackDeadlines } from './deadlines';
import type { DrainParts } from './drain-parts';
import { addCounts, type DrainCounts } from './drain-counts';
import { FollowUps } from './follow-ups';
import { type Failed, type HandledApart, handleApart, HandlerFaultError } from './handle-apart';
import type { HandlerHealth } from './handler-health';
import { lockBatch } from './lock-batch';
import type { LowWater } from './low-water';
import type { Pace, Plan } from './pace';
import { pause } from './pause';
import { isSubjectsFault, setAside, subjectNamedBy } from './subject-failure';
import { inTransaction, type Transaction } from './transaction';

/**
 * After a batch: more may be due, or nothing more is. Or it did not begin: all turns are taken, an
 * operator has to look first (`braked`), or that has to be judged before anything (`unjudged`). Or
 * the handler fails for all (`stopped`).
 */
export type BatchOutcome = 'more' | 'all' | 'no turn' | 'braked' | 'unjudged' | 'stopped';

/** What a round asks of its batches. */
export interface Asked {
  readonly by: Claimant;
  /** Only what has been due for so long. */
  readonly overdueByMs: number;
}

/** A batch that is handled in pieces is no larger: each piece is a savepoint of its transaction. */
const LARGEST_APART = 1_000;
/** Batches in pieces without a failure, until they are handled as a whole again. */
const APART_FOR = 5;
/** How many are tried to see whether the handler works again. */
const PROBED = 10;

/** What a kind's drain knows of itself. */
export interface DrainOwn {
  readonly pace: Pace;
  readonly health: HandlerHealth;
  readonly lowWater: LowWater;
  /** After so many failures a subject is held for an operator. */
  readonly maxFailures: number;
}

/** A batch as it was claimed, and as it ended. */
interface Carried {
  readonly due: readonly DueDeadline[];
  readonly failed: readonly Failed[];
}

/**
 * Handles one kind's due deadlines, a batch a transaction. Where a batch fails, those that follow
 * are handled in pieces, each behind a savepoint, so that only the subjects to blame are put aside.
 */
export class DrainBatch {
  readonly followUps: FollowUps;
  /** Locks on their way back. The next batch has other subjects, so it need not wait for them. */
  readonly #releasing = new Set<Promise<void>>();
  /** So many batches are still to be handled in pieces. */
  #apartFor = 0;
  readonly #rate = { failed: 0, succeeded: 0 };

  constructor(
    private readonly kind: string,
    private readonly handler: DeadlineHandler,
    private readonly parts: DrainParts,
    private readonly own: DrainOwn,
  ) {
    this.followUps = new FollowUps(kind, handler, parts.telemetry);
  }

  /** Handles one batch, and adds to `total` what it did. */
  async handle({ by, overdueByMs }: Asked, total: DrainCounts): Promise<BatchOutcome> {
    if (this.own.health.waits) return 'stopped';
    const isProbe = this.own.health.isStopped;
    const plan = this.#plan(isProbe);
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
      claimed = isProbe
        ? await claimSome(tx, this.kind, plan.limit)
        : await claimDue(tx, this.kind, plan.limit, overdueByMs, this.own.lowWater);
      const oldestMs = Math.min(...claimed.map(({ dueAt }) => dueAt.getTime()));
      if (claimed.length > 0) this.own.pace.claimed(entry.now.getTime() - oldestMs);
      return claimed;
    };
    try {
      const { due, failed } = await this.#carryOut(by, plan, claim, total, isProbe);
      if (refused) return refused;
      this.followUps.begin(due, failed);
      if (this.own.health.isStopped) return 'stopped';
      return due.length === plan.limit ? 'more' : 'all';
    } catch (error) {
      return this.#failed(error, claimed, plan, total);
    }
  }

  /** Locks that are on their way back. */
  async released(): Promise<void> {
    await Promise.all(this.#releasing);
  }

  #plan(isProbe: boolean): Plan {
    const plan = this.own.pace.plan();
    const most = isProbe ? PROBED : this.#apartFor > 0 ? LARGEST_APART : plan.limit;
    return { ...plan, limit: Math.min(plan.limit, most) };
  }

  #refusal(entry: BatchEntry): BatchOutcome | undefined {
    const { brake } = this.parts;
    if (brake.covers(this.kind)) {
      if (brake.isOnFor(entry)) return 'braked';
      if (brake.wantsToJudge(entry.now)) return 'unjudged';
    }
    return entry.hasTurn ? undefined : 'no turn';
  }

  async #carryOut(
    by: Claimant,
    plan: Plan,
    claim: (tx: Transaction) => Promise<readonly DueDeadline[]>,
    total: DrainCounts,
    isProbe: boolean,
  ): Promise<Carried> {
    let release = async (): Promise<void> => undefined;
    try {
      let startedMs = 0;
      const carried = await inTransaction(this.parts.dataSource, async (tx) => {
        await release(); // of an attempt that was rolled back
        const due = await claim(tx);
        if (due.length === 0) return { due, failed: [] };
        const { mine, contended, giveBack } = await lockBatch(due, this.handler, this.parts);
        release = giveBack;
        startedMs = performance.now();
        const { changed, lost, putBack, failed } = await this.#handle(mine, tx, by, isProbe);
        const back = [...putBack, ...contended];
        await putBackDeadlines(tx, back);
        await this.#setAside(tx, failed);
        tx.afterCommit(() => {
          this.parts.alarms.ensure(back);
          const found = due.length - failed.length;
          const counts = { found, changed, lost, putBack: back.length, failed: failed.length };
          addCounts(total, counts);
          if (mine.length > 0) this.#learn(mine.length - failed.length, failed);
        });
        return { due, failed };
      });
      // From the first row it locked to its commit: the time for which a customer may have to wait.
      const { length } = carried.due;
      if (length > 0 && !isProbe) this.own.pace.took(plan, length, performance.now() - startedMs);
      return carried;
    } finally {
      const releasing = release().finally(() => this.#releasing.delete(releasing));
      this.#releasing.add(releasing);
    }
  }

  async #handle(
    mine: readonly DueDeadline[],
    tx: Transaction,
    by: Claimant,
    isProbe: boolean,
  ): Promise<HandledApart> {
    const handle = (piece: readonly DueDeadline[]) => this.handler.handle(piece, tx, by);
    if (!isProbe && this.#apartFor === 0) {
      const { changed, lost, putBack = [] } = await handle(mine);
      return { changed, lost, putBack, failed: [] };
    }
    const result = await handleApart(mine, (piece) => tx.attempt(() => handle(piece)), {
      rate: this.#rate,
      isSubjectsFault,
      suspectOf: subjectNamedBy,
      isJudged: !isProbe && this.own.health.isJudged,
    });
    const [first] = result.failed;
    // Nobody's failure is counted against them when all that a probe has tried fail.
    if (isProbe && first && result.failed.length === mine.length) {
      throw new HandlerFaultError(first.error);
    }
    return result;
  }

  #setAside(tx: Transaction, failed: readonly Failed[]): Promise<void> {
    return setAside(tx, failed, this.parts, {
      maxFailures: this.own.maxFailures,
      mayHold: (failures) => this.own.health.mayHold(failures),
    });
  }

  #learn(succeeded: number, failed: readonly Failed[]): void {
    this.#apartFor = failed.length > 0 ? APART_FOR : Math.max(0, this.#apartFor - 1);
    const fresh = failed.filter(({ due }) => due.failures === 0).length;
    const worn = failed.some(
      ({ due: { failures } }) =>
        failures + 1 >= this.own.maxFailures && !this.own.health.mayHold(failures + 1),
    );
    const error = failed[0]?.error;
    this.own.health.learn({ succeeded, fresh, worn }, error);
    if (failed.length > 0) this.parts.telemetry.batchFailed(this.kind, failed.length, error);
  }

  /** What becomes of a batch that was rolled back. */
  async #failed(
    error: unknown,
    claimed: readonly DueDeadline[],
    { limit }: Plan,
    total: DrainCounts,
  ): Promise<BatchOutcome> {
    if (error instanceof HandlerFaultError) {
      this.own.health.stop(error.cause);
      // Tells nothing of subjects.
      this.#rate.failed = this.#rate.succeeded = 0;
      return 'stopped';
    }
    if (!isSubjectsFault(error)) throw error;
    this.parts.telemetry.batchFailed(this.kind, claimed.length, error);
    const wasWhole = this.#apartFor === 0;
    this.#apartFor = APART_FOR;
    if (wasWhole && claimed.length > 0) return 'more';
    // Savepoints do not help: the claim itself fails, or the commit. Fewer, down to one.
    const [alone] = claimed;
    if (limit > 1) this.own.pace.failed(limit);
    // No subject is to blame, and trying on would not end.
    else if (!alone) throw error;
    else {
      const failed = [{ due: alone, error }];
      await inTransaction(this.parts.dataSource, async (tx) => {
        if (!(await claimExactly(tx, alone))) return;
        await this.#setAside(tx, failed);
        tx.afterCommit(() => {
          total.failed += 1;
          this.#learn(0, failed);
        });
      });
    }
    return 'more';
  }
}
