import { type BatchEntry, enterBatch } from './batch-entry';
import { claimSome } from './claim-some';
import { ClaimedBatch } from './claimed-batch';
import type { Claimant, DeadlineHandler, DueDeadline } from './deadline-handler';
import { claimDue, claimExactly, putBackDeadlines } from './deadlines';
import type { DrainParts } from './drain-parts';
import { addCounts, type DrainCounts, noCounts } from './drain-counts';
import { FollowUps } from './follow-ups';
import {
  type Failed,
  FailureRates,
  type HandledApart,
  handleApart,
  HandlerFaultError,
} from './handle-apart';
import type { HandlerHealth } from './handler-health';
import { lockBatch } from './lock-batch';
import { LowWater } from './low-water';
import type { Pace, Plan } from './pace';
import { pause } from './pause';
import { SERVICE_LEVEL_MS } from './service-level';
import type { DeadlineRange } from './shards/deadline-range';
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
  /** Only these. */
  readonly part?: Part;
}

/** A shard of a sweep, as its batches go about it. */
export interface Part {
  readonly range: DeadlineRange;
  readonly lowWater: LowWater;
  /** No batch begins any more once it is aborted. */
  readonly signal: AbortSignal;
  /** Keeps what a batch did, and how overdue the oldest was, in the batch's transaction. */
  keep(tx: Transaction, counts: DrainCounts, oldestLagMs: number): Promise<void>;
}

/** A batch that is handled in pieces is no larger: each piece is a savepoint of its transaction. */
const LARGEST_APART = 1_000;
/** Batches in pieces without a failure, until they are handled as a whole again. */
const APART_FOR = 5;
/** How many are tried to see whether the handler works again. */
const PROBED = 10;

const NOTHING = ClaimedBatch.of([]);

/** What a kind's drain knows of itself. */
export interface DrainOwn {
  readonly pace: Pace;
  readonly health: HandlerHealth;
  readonly lowWater: LowWater;
  /** After so many failures a subject is held for an operator. */
  readonly maxFailures: number;
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
  readonly #rates = new FailureRates();

  constructor(
    private readonly kind: string,
    private readonly handler: DeadlineHandler,
    private readonly parts: DrainParts,
    private readonly own: DrainOwn,
  ) {
    this.followUps = new FollowUps(kind, handler, parts.telemetry);
  }

  /** Handles one batch, and adds to `total` what it did. */
  async handle(asked: Asked, total: DrainCounts): Promise<BatchOutcome> {
    // Probes look anywhere: a part leaves them to the others.
    if (this.own.health.waits || (asked.part && this.own.health.isStopped)) return 'stopped';
    const isProbe = this.own.health.isStopped;
    const plan = this.#plan(isProbe);
    let refused: BatchOutcome | undefined;
    let claimed = NOTHING;
    const claimedAt = { ms: 0 };
    const claim = async (tx: Transaction): Promise<ClaimedBatch> => {
      claimed = NOTHING;
      const { brake } = this.parts;
      const { timesEngaged } = brake;
      const askedMs = brake.uptimeMs();
      const entry = await enterBatch(tx, this.kind, plan.drainers, brake.covers(this.kind));
      // Put on meanwhile: what was read may be from before that, and is read again.
      refused = brake.timesEngaged === timesEngaged ? this.#refusal(entry, askedMs) : 'unjudged';
      if (refused) return claimed;
      // Having the turn, so that nobody else makes use of the rest.
      if (plan.restMs > 0) await pause(plan.restMs);
      claimed = isProbe
        ? await claimSome(tx, this.kind, plan.limit)
        : await claimDue(
            ...([tx, this.kind, plan.limit, asked.overdueByMs, this.#lowWaterFor(asked)] as const),
            asked.part?.range,
          );
      claimedAt.ms = entry.now.getTime();
      if (claimed.count > 0) this.own.pace.claimed(claimedAt.ms - claimed.between.oldestMs);
      return claimed;
    };
    try {
      const failed = await this.#carryOut(asked, plan, claim, claimedAt, total, isProbe);
      if (refused) return refused;
      this.followUps.begin(claimed, failed);
      if (this.own.health.isStopped) return 'stopped';
      return claimed.count === plan.limit ? 'more' : 'all';
    } catch (error) {
      return this.#failed(error, claimed, plan, asked, total);
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

  #refusal(entry: BatchEntry, askedMs: number): BatchOutcome | undefined {
    const { brake } = this.parts;
    if (brake.covers(this.kind)) {
      if (brake.isOnFor(entry)) return 'braked';
      if (brake.wantsToJudge(entry.clockNow, askedMs)) return 'unjudged';
    }
    return entry.hasTurn ? undefined : 'no turn';
  }

  /** What was due before a sharded sweep began is that one's, while somebody is at it. */
  #lowWaterFor({ part }: Asked): LowWater {
    const leftMs = this.parts.leftToRunMs(this.kind);
    return part?.lowWater ?? (leftMs > 0 ? new LowWater(leftMs) : this.own.lowWater);
  }

  async #carryOut(
    { by, part }: Asked,
    plan: Plan,
    claim: (tx: Transaction) => Promise<ClaimedBatch>,
    claimedAt: { readonly ms: number },
    total: DrainCounts,
    isProbe: boolean,
  ): Promise<readonly Failed[]> {
    let release = async (): Promise<void> => undefined;
    try {
      let [startedMs, count] = [0, 0];
      const failures = await inTransaction(this.parts.dataSource, async (tx) => {
        await release(); // of an attempt that was rolled back
        const claimed = await claim(tx);
        count = claimed.count;
        if (count === 0) return [];
        const { mine, contended, giveBack } = await lockBatch(claimed, this.handler, this.parts);
        release = giveBack;
        startedMs = performance.now();
        const { changed, lost, putBack, failed } = await this.#handle(mine, tx, by, isProbe);
        const back = [...putBack, ...contended];
        await putBackDeadlines(tx, back);
        await this.#setAside(tx, failed);
        const found = count - failed.length;
        const counts = { found, changed, lost, putBack: back.length, failed: failed.length };
        await part?.keep(tx, counts, claimedAt.ms - claimed.between.oldestMs);
        tx.afterCommit(() => {
          this.parts.alarms.ensure(back);
          addCounts(total, counts);
          this.#tellOfLateness(claimed, claimedAt.ms);
          if (mine.count > 0) this.#learn(mine.count - failed.length, failed);
        });
        return failed;
      });
      // From the first row it locked to its commit: the time for which a customer may have to wait.
      if (count > 0 && !isProbe) this.own.pace.took(plan, count, performance.now() - startedMs);
      return failures;
    } finally {
      const releasing = release().finally(() => this.#releasing.delete(releasing));
      this.#releasing.add(releasing);
    }
  }

  async #handle(
    mine: ClaimedBatch,
    tx: Transaction,
    by: Claimant,
    isProbe: boolean,
  ): Promise<HandledApart> {
    const handle = (piece: readonly DueDeadline[]) => this.handler.handle(piece, tx, by);
    if (!isProbe && this.#apartFor === 0) {
      const whole =
        mine.count > 0 ? await this.handler.whole?.handle(mine.subjectIds, tx, by) : undefined;
      const { changed, lost, putBack = [] } = whole ?? (await handle(mine.each));
      return { changed, lost, putBack, failed: [] };
    }
    const result = await handleApart(mine.each, (piece) => tx.attempt(() => handle(piece)), {
      rates: this.#rates,
      isSubjectsFault,
      suspectOf: subjectNamedBy,
      isJudged: !isProbe && this.own.health.isJudged,
    });
    const [first] = result.failed;
    // Nobody's failure is counted against them when all that a probe has tried fail.
    if (isProbe && first && result.failed.length === mine.count) {
      throw new HandlerFaultError(first.error);
    }
    return result;
  }

  #tellOfLateness(claimed: ClaimedBatch, nowMs: number): void {
    const late = claimed.dueBefore(nowMs - SERVICE_LEVEL_MS);
    this.parts.telemetry.handled(this.kind, { inTime: claimed.count - late, late });
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
    claimed: ClaimedBatch,
    { limit }: Plan,
    { part }: Asked,
    total: DrainCounts,
  ): Promise<BatchOutcome> {
    if (error instanceof HandlerFaultError) {
      this.own.health.stop(error.cause);
      // Tells nothing of subjects.
      this.#rates.forget();
      return 'stopped';
    }
    if (!isSubjectsFault(error)) throw error;
    this.parts.telemetry.batchFailed(this.kind, claimed.count, error);
    const wasWhole = this.#apartFor === 0;
    this.#apartFor = APART_FOR;
    if (wasWhole && claimed.count > 0) return 'more';
    // Savepoints do not help: the claim itself fails, or the commit. Fewer, down to one.
    const [alone] = claimed.each;
    if (limit > 1) this.own.pace.failed(limit);
    // No subject is to blame, and trying on would not end.
    else if (!alone) throw error;
    else {
      const failed = [{ due: alone, error }];
      await inTransaction(this.parts.dataSource, async (tx) => {
        if (!(await claimExactly(tx, alone))) return;
        await this.#setAside(tx, failed);
        await part?.keep(tx, { ...noCounts(), failed: 1 }, 0);
        tx.afterCommit(() => {
          total.failed += 1;
          this.#learn(0, failed);
        });
      });
    }
    return 'more';
  }
}
