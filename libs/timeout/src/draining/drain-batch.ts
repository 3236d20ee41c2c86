import { type Asked, claimsAllThatIsDue } from './asked';
import { type BatchEntry, enterBatch } from './batch-entry';
import { batchesUnderWay } from './batches-under-way';
import { ClaimFront } from './claim-front';
import { claimSome } from './claim-some';
import { ClaimedBatch } from './claimed-batch';
import type { DeadlineHandler } from '../deadlines/deadline-handler';
import { claimDue } from './claim-due';
import { DrainAside } from './drain-aside';
import { type LeftAside, NOTHING_ASIDE } from './left-aside';
import { addCounts, type DrainCounts } from './drain-counts';
import type { DrainOwn, DrainParts } from './drain-parts';
import { FollowUps } from './follow-ups';
import { HangingTurns } from './hanging-turns';
import { handleClaimed } from './handle-claimed';
import { lockBatch } from './lock-batch';
import { EVERYTHING_MS, LowWater } from '../deadlines/low-water';
import type { Pace, Plan } from './pace';
import { pause } from '../pause';
import { SERVICE_LEVEL_MS } from '../service-level';
import { inTransaction } from '../database/in-transaction';
import type { Transaction } from '../database/transaction';

/**
 * After a batch: more may be due, or nothing more is. Or it did not begin: all turns are taken, an
 * operator has to look first (`braked`), or that has to be judged before anything (`unjudged`). Or
 * the handler fails for all (`stopped`).
 */
export type BatchOutcome = 'more' | 'all' | 'no turn' | 'braked' | 'unjudged' | 'stopped';

/** A batch that is handled in pieces is no larger: each piece is a savepoint of its transaction. */
const LARGEST_APART = 1_000;
/** How many are tried to see whether the handler works again. */
const PROBED = 10;

/** What a batch has claimed, when, and whether nothing more was to be had; or why it did not begin. */
interface Claim {
  readonly claimed: ClaimedBatch;
  readonly atMs: number;
  readonly sawAll: boolean;
  readonly refused?: BatchOutcome;
}

const NOTHING: Claim = { claimed: ClaimedBatch.of([]), atMs: 0, sawAll: false };

/** What is to become of the next batch. */
interface BatchPlan extends Plan {
  /** It looks whether the handler works again. */
  readonly isProbe: boolean;
  readonly isApart: boolean;
  /** Each piece as its commit would be. */
  readonly isChecked: boolean;
}

/**
 * Handles one kind's due deadlines, a batch a transaction. Where a batch fails, those that follow
 * are handled in pieces, each behind a savepoint, so that only the subjects to blame are put aside.
 */
export class DrainBatch {
  readonly followUps: FollowUps;
  /** Locks on their way back. The next batch has other subjects, so it need not wait for them. */
  readonly #releasing = new Set<Promise<void>>();
  readonly #aside: DrainAside;
  readonly #front = new ClaimFront();
  readonly #hanging: HangingTurns;

  constructor(
    private readonly kind: string,
    private readonly handler: DeadlineHandler,
    private readonly parts: DrainParts,
    private readonly own: DrainOwn,
  ) {
    this.followUps = new FollowUps(kind, handler, parts.telemetry, own.health.followUps);
    this.#aside = new DrainAside(kind, parts, own);
    this.#hanging = new HangingTurns(() => batchesUnderWay(parts.dataSource, kind));
  }

  /** How fast its batches follow each other. */
  get pace(): Pace {
    return this.own.pace;
  }

  /**
   * Handles one batch, and adds to `total` what it did. `moreIsDue` is called as soon as it has claimed as
   * many as it may: others begin while it is under way.
   */
  async handle(asked: Asked, total: DrainCounts, moreIsDue: () => void): Promise<BatchOutcome> {
    const { health } = this.own;
    // Probes look anywhere: a shard leaves them to the others.
    if (health.waits || (asked.shard && health.isStopped)) return 'stopped';
    const plan = this.#plan();
    let last = NOTHING;
    const claim = async (tx: Transaction): Promise<Claim> => {
      // Of an attempt that was rolled back.
      if (last.claimed.count > 0) this.#front.fall();
      last = NOTHING;
      return (last = await this.#claim(tx, asked, plan, moreIsDue));
    };
    try {
      const { aside, also } = await this.#carryOut(asked, plan, claim, total);
      const { refused, claimed, sawAll } = last;
      if (refused) return refused;
      if (plan.isProbe) health.followUps.probeBegins();
      this.followUps.begin(claimed, aside);
      if (health.isStopped) return 'stopped';
      return sawAll && also.length === 0 ? 'all' : 'more';
    } catch (error) {
      this.#front.fall();
      return this.#aside.rolledBack(error, { claimed: last.claimed, ...plan }, asked.shard, total);
    }
  }

  /** All turns are taken. True where some are by sessions that hang: there are others. */
  areTurnsTaken(): Promise<boolean> {
    return this.#hanging.areTaken();
  }

  /** Locks that are on their way back. */
  async released(): Promise<void> {
    await Promise.all(this.#releasing);
  }

  #plan(): BatchPlan {
    const plan = this.own.pace.plan();
    const isProbe = this.own.health.isStopped;
    const isApart = isProbe || this.#aside.asksForPieces;
    const isChecked = isApart && this.#aside.asksForChecks;
    const most = isProbe ? PROBED : isApart ? LARGEST_APART : plan.limit;
    const drainers = this.#aside.heldUp.askToBeAlone ? 1 : plan.drainers;
    return { ...plan, drainers, limit: Math.min(plan.limit, most), isProbe, isApart, isChecked };
  }

  async #claim(
    tx: Transaction,
    asked: Asked,
    plan: BatchPlan,
    moreIsDue: () => void,
  ): Promise<Claim> {
    const { brake } = this.parts;
    const { timesEngaged } = brake;
    const askedMs = brake.uptimeMs();
    const turns = plan.drainers + this.#hanging.beside(this.own.drainers);
    const braked = brake.covers(this.kind) ? brake.kinds : [];
    const entry = await enterBatch(tx, this.kind, turns, braked);
    if (entry.hasTurn) this.#hanging.had();
    // Put on meanwhile: what was read may be from before that, and is read again.
    const refused =
      brake.timesEngaged === timesEngaged ? this.#refusal(entry, askedMs) : 'unjudged';
    if (refused) return { ...NOTHING, refused };
    // Having the turn, so that nobody else makes use of the rest.
    if (plan.restMs > 0) await pause(plan.restMs);
    // Of a probe, rows that somebody holds are left out.
    const [claimed, sawAll] = plan.isProbe
      ? [await claimSome(tx, this.kind, plan.limit), false]
      : await this.#claimDue(tx, plan.limit, asked);
    const atMs = entry.now.getTime();
    if (claimed.count > 0) this.own.pace.claimed(atMs - claimed.between.oldestMs);
    if (claimed.count === plan.limit && !plan.isApart) moreIsDue();
    return { claimed, atMs, sawAll };
  }

  #refusal(entry: BatchEntry, askedMs: number): BatchOutcome | undefined {
    const { brake } = this.parts;
    if (brake.covers(this.kind)) {
      if (brake.isOnFor(entry)) return 'braked';
      if (brake.wantsToJudge(entry.clockNow, askedMs)) return 'unjudged';
    }
    return entry.hasTurn ? undefined : 'no turn';
  }

  /** With what is claimed, whether nothing more was to be had. */
  async #claimDue(
    tx: Transaction,
    limit: number,
    asked: Asked,
  ): Promise<[ClaimedBatch, sawAll: boolean]> {
    const { watch } = this.own;
    const { shard, overdueByMs } = asked;
    const watches = claimsAllThatIsDue(asked);
    const look = shard ? undefined : this.#front.begin();
    const claimed = await claimDue(tx, this.kind, limit, overdueByMs, {
      ...{ lowWater: this.#lowWaterFor(asked), from: look?.from },
      ...(shard && { range: shard.range }),
      ...(watches && { nextUntilMs: watch.untilMs }),
    });
    if (watches) watch.nextIn(claimed.nextInMs);
    const isFull = claimed.count === limit;
    if (look) this.#front.end(look, isFull ? claimed.last : undefined);
    return [claimed, !isFull && !look?.from];
  }

  /** What was due before a sharded sweep began is that one's, while somebody is at it. */
  #lowWaterFor({ shard }: Asked): LowWater {
    const leftMs = this.parts.leftToRunMs(this.kind);
    return shard?.lowWater ?? (leftMs > EVERYTHING_MS ? new LowWater(leftMs) : this.own.lowWater);
  }

  async #carryOut(
    { by, shard }: Asked,
    plan: BatchPlan,
    claim: (tx: Transaction) => Promise<Claim>,
    total: DrainCounts,
  ): Promise<LeftAside> {
    const { isApart, isChecked, isProbe } = plan;
    let release = async (): Promise<void> => undefined;
    try {
      let [startedMs, count] = [0, 0];
      const left = await inTransaction(this.parts.dataSource, async (tx) => {
        await release(); // of an attempt that was rolled back
        const { claimed, atMs } = await claim(tx);
        count = claimed.count;
        if (count === 0) return NOTHING_ASIDE;
        const { mine, contended, isLocked, giveBack } = await lockBatch(
          claimed,
          this.handler,
          this.parts,
          tx,
        );
        release = giveBack;
        startedMs = performance.now();
        const handled = await handleClaimed(mine, tx, {
          ...{ kind: this.kind, handler: this.handler, by, judge: this.own.health.followUps },
          ...{ rates: this.#aside.rates, suspects: this.#aside.suspects },
          ...{ isApart, isChecked, isProbe, isLocked, isJudged: this.own.health.handler.isJudged },
          answerLimitMs: this.own.answerLimitMs,
        });
        const { changed, lost, failed } = handled;
        const left = await this.#aside.leave(tx, mine, { ...handled, contended }, plan, atMs);
        const [found, putBack] = [count - failed.length, left.back.length];
        const counts = { found, changed, lost, putBack, failed: failed.length };
        await shard?.keep(tx, counts, atMs - claimed.between.oldestMs);
        tx.afterCommit(() => {
          this.#aside.armAgain([...left.back, ...left.also], shard);
          addCounts(total, counts);
          this.#tellOfLateness(claimed, atMs);
          left.learn();
        });
        return left;
      });
      // From the first row it locked to its commit: the time for which a customer may have to wait.
      const tookMs = performance.now() - startedMs;
      if (count > 0 && !isProbe) this.own.pace.took(plan, count, tookMs);
      return left;
    } finally {
      const releasing = release().finally(() => this.#releasing.delete(releasing));
      this.#releasing.add(releasing);
    }
  }

  #tellOfLateness(claimed: ClaimedBatch, nowMs: number): void {
    const late = claimed.dueBefore(nowMs - SERVICE_LEVEL_MS);
    this.parts.telemetry.handled(this.kind, { inTime: claimed.count - late, late });
  }
}
