import { type BatchEntry, enterBatch } from './batch-entry';
import { claimSome } from './claim-some';
import { ClaimedBatch } from './claimed-batch';
import { isCanceledStatement, isContention } from './database-errors';
import type { Claimant, DeadlineHandler, DueDeadline } from './deadline-handler';
import { claimDue, claimExactly, putBackDeadlines } from './deadlines';
import type { DrainParts } from './drain-parts';
import { addCounts, type DrainCounts, noCounts } from './drain-counts';
import { FollowUps } from './follow-ups';
import { type Failed, FailureRates, HandlerFaultError } from './handle-apart';
import { type Aside, handleClaimed, NOBODY, RowHeldError, UnansweredError } from './handle-claimed';
import type { HandlerHealth } from './handler-health';
import { lockBatch } from './lock-batch';
import { LowWater } from './low-water';
import type { Pace, Plan } from './pace';
import { pause } from './pause';
import { SERVICE_LEVEL_MS } from './service-level';
import type { DeadlineRange } from './shards/deadline-range';
import { isSubjectsFault, setAside } from './subject-failure';
import { Suspects } from './suspects';
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

/** What is to become of the next batch. */
interface BatchPlan extends Plan {
  /** It looks whether the handler works again. */
  readonly isProbe: boolean;
  readonly isApart: boolean;
}

/** What a kind's drain knows of itself. */
export interface DrainOwn {
  readonly pace: Pace;
  readonly health: HandlerHealth;
  readonly lowWater: LowWater;
  /** After so many failures a subject is held for an operator. */
  readonly maxFailures: number;
  /** A handler that is silent for longer is not waited for. */
  readonly answerLimitMs: number;
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
  readonly #suspects = new Suspects();

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
    const plan = this.#plan();
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
      claimed = plan.isProbe
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
      const aside = await this.#carryOut(asked, plan, claim, claimedAt, total);
      if (refused) return refused;
      this.followUps.begin(claimed, aside);
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

  #plan(): BatchPlan {
    const plan = this.own.pace.plan();
    const isProbe = this.own.health.isStopped;
    const isApart = isProbe || this.#apartFor > 0 || this.#suspects.areKnown;
    const most = isProbe ? PROBED : isApart ? LARGEST_APART : plan.limit;
    return { ...plan, limit: Math.min(plan.limit, most), isProbe, isApart };
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
    plan: BatchPlan,
    claim: (tx: Transaction) => Promise<ClaimedBatch>,
    claimedAt: { readonly ms: number },
    total: DrainCounts,
  ): Promise<readonly DueDeadline[]> {
    let release = async (): Promise<void> => undefined;
    try {
      let [startedMs, count] = [0, 0];
      const aside = await inTransaction(this.parts.dataSource, async (tx) => {
        await release(); // of an attempt that was rolled back
        const claimed = await claim(tx);
        count = claimed.count;
        if (count === 0) return [];
        const { mine, contended, giveBack } = await lockBatch(claimed, this.handler, this.parts);
        release = giveBack;
        startedMs = performance.now();
        const handled = await handleClaimed(mine, tx, {
          ...{ kind: this.kind, handler: this.handler, by },
          ...{ rates: this.#rates, suspects: this.#suspects },
          answerLimitMs: this.own.answerLimitMs,
          ...{ isApart: plan.isApart, isProbe: plan.isProbe, isJudged: this.own.health.isJudged },
        });
        const { changed, lost, failed, locked, left } = handled;
        const back = [...handled.putBack, ...contended, ...this.#putOff(handled)];
        await putBackDeadlines(tx, back);
        await this.#setAside(tx, failed);
        const found = count - failed.length;
        const counts = { found, changed, lost, putBack: back.length, failed: failed.length };
        await part?.keep(tx, counts, claimedAt.ms - claimed.between.oldestMs);
        const aside = [...[...failed, ...locked].map(({ due }) => due), ...left];
        tx.afterCommit(() => {
          this.parts.alarms.ensure(back);
          addCounts(total, counts);
          this.#tellOfLateness(claimed, claimedAt.ms);
          if (mine.count > 0) this.#learn(handled.succeeded, handled);
          if (plan.isApart) this.#suspects.forget(mine.each, aside);
        });
        return aside;
      });
      // From the first row it locked to its commit: the time for which a customer may have to wait.
      const tookMs = performance.now() - startedMs;
      if (count > 0 && !plan.isProbe) this.own.pace.took(plan, count, tookMs);
      return aside;
    } finally {
      const releasing = release().finally(() => this.#releasing.delete(releasing));
      this.#releasing.add(releasing);
    }
  }

  /** Those that somebody's lock has kept from being handled, as they come back. */
  #putOff({ locked, left }: Aside): DueDeadline[] {
    const held = [...locked.map(({ due }) => due), ...left];
    return this.#suspects.putOff(held, this.parts.clock.nowMs());
  }

  #tellOfLateness(claimed: ClaimedBatch, nowMs: number): void {
    const late = claimed.dueBefore(nowMs - SERVICE_LEVEL_MS);
    this.parts.telemetry.handled(this.kind, { inTime: claimed.count - late, late });
  }

  #setAside(tx: Transaction, failed: Aside['failed']): Promise<void> {
    return setAside(tx, failed, this.parts, {
      maxFailures: this.own.maxFailures,
      mayHold: (failures) => this.own.health.mayHold(failures),
    });
  }

  #learn(succeeded: number, { failed, locked }: Aside): void {
    const aside = [...failed, ...locked];
    this.#apartFor = aside.length > 0 ? APART_FOR : Math.max(0, this.#apartFor - 1);
    this.#suspects.add(locked.map(({ due }) => due));
    const fresh = failed.filter(({ due }) => due.failures === 0).length;
    const worn = failed.some(
      ({ due: { failures } }) =>
        failures + 1 >= this.own.maxFailures && !this.own.health.mayHold(failures + 1),
    );
    this.own.health.learn({ succeeded, fresh, worn }, failed[0]?.error);
    const [first] = aside;
    if (first) this.parts.telemetry.batchFailed(this.kind, aside.length, first.error);
  }

  /** What becomes of a batch that was rolled back. */
  async #failed(
    error: unknown,
    claimed: ClaimedBatch,
    { limit, isApart }: BatchPlan,
    { part }: Asked,
    total: DrainCounts,
  ): Promise<BatchOutcome> {
    if (error instanceof HandlerFaultError) {
      this.own.health.stop(error.cause);
      // Tells nothing of subjects.
      this.#rates.forget();
      return 'stopped';
    }
    const silence = UnansweredError.in(error);
    if (silence) return this.#doubt(silence, limit, part, total);
    // Where not even the claim succeeds, a smaller one may, if this one took too long.
    const mayGoOn = claimed.count > 0 ? isSubjectsFault(error) : isCanceledStatement(error);
    if (!mayGoOn) throw error;
    const failure = error instanceof RowHeldError ? error.failure : error;
    this.parts.telemetry.batchFailed(this.kind, claimed.count, failure);
    this.#apartFor = APART_FOR;
    if (!isApart && claimed.count > 0) return 'more';
    // Savepoints do not help: the claim itself fails, or the commit. Fewer, down to one.
    const [alone] = claimed.each;
    if (limit > 1) this.own.pace.failed(limit);
    // No subject is to blame, and trying on would not end.
    else if (!alone) throw error;
    else await this.#putAside({ due: alone, error }, part, total);
    return 'more';
  }

  /** One for which the handler is silent also when it is alone is put aside. */
  async #doubt(
    silence: UnansweredError,
    limit: number,
    part: Part | undefined,
    total: DrainCounts,
  ): Promise<BatchOutcome> {
    const [first] = silence.piece;
    if (first && silence.piece.length === 1) {
      await this.#putAside({ due: first, error: silence }, part, total);
    } else {
      this.parts.telemetry.batchFailed(this.kind, silence.piece.length, silence);
      this.#suspects.add(silence.piece);
      this.own.pace.failed(limit);
    }
    return 'more';
  }

  /** The only one of its batch, by a transaction of its own. */
  async #putAside(one: Failed, part: Part | undefined, total: DrainCounts): Promise<void> {
    const isHeld = isContention(one.error);
    const aside = { ...NOBODY, ...(isHeld ? { locked: [one] } : { failed: [one] }) };
    const counts = { ...noCounts(), ...(isHeld ? { found: 1, putBack: 1 } : { failed: 1 }) };
    await inTransaction(this.parts.dataSource, async (tx) => {
      if (!(await claimExactly(tx, one.due))) return;
      const back = this.#putOff(aside);
      await putBackDeadlines(tx, back);
      await this.#setAside(tx, aside.failed);
      await part?.keep(tx, counts, 0);
      tx.afterCommit(() => {
        this.parts.alarms.ensure(back);
        addCounts(total, counts);
        this.#learn(0, aside);
      });
    });
  }
}
