import { batchesUnderWay } from './batches-under-way';
import type { ClaimedBatch } from './claimed-batch';
import { isCanceledStatement, isContention, isLockTimeout } from '../database/database-errors';
import type { DueDeadline } from '../deadlines/deadline-handler';
import { claimExactly } from './claim-due';
import { putBackDeadlines } from '../deadlines/deadlines';
import { addCounts, type DrainCounts, noCounts } from './drain-counts';
import type { DrainOwn, DrainParts, ShardWork } from './drain-parts';
import { FailureRates } from './failure-rates';
import {
  type Failed,
  type HandledApart,
  HandlerFaultError,
  TableLockedError,
} from './handled-apart';
import { type Aside, NOBODY, RowHeldError, UnansweredError } from './handle-claimed';
import { HeldUpBatches } from './held-up-batches';
import type { LeftAside } from './left-aside';
import { isSubjectsFault, setAside } from './subject-failure';
import { Suspects } from './suspects';
import { inTransaction } from '../database/in-transaction';
import type { Transaction } from '../database/transaction';

/** What was given up is free by then, unless somebody else has claimed it. */
const LETS_GO_WITHIN_MS = 250;
/** Batches in pieces without a failure, until they are handled as a whole again. */
const APART_FOR = 5;

/** A batch that was rolled back: what it had claimed, of how many at most, and how it was handled. */
interface RolledBack {
  readonly claimed: ClaimedBatch;
  readonly limit: number;
  readonly isApart: boolean;
  /** Each piece as the commit would: {@link DrainAside.asksForChecks}. */
  readonly isChecked: boolean;
  /** How many batches of the kind could be under way with it, at most. */
  readonly drainers: number;
}

/**
 * Those of a kind's deadlines that a batch claims and does not handle: what becomes of them, and what
 * that tells the batches that follow.
 */
export class DrainAside {
  readonly rates = new FailureRates();
  readonly suspects = new Suspects();
  readonly heldUp = new HeldUpBatches();
  /** So many batches are still to be handled in pieces. */
  #apartFor = 0;
  /** A commit of batches in pieces has failed, since they were last handled as a whole. */
  #hasCommitFailed = false;

  constructor(
    private readonly kind: string,
    private readonly parts: DrainParts,
    private readonly own: DrainOwn,
  ) {}

  /** True while batches are to be handled in pieces. */
  get asksForPieces(): boolean {
    return this.#apartFor > 0 || this.suspects.areKnown;
  }

  /** True while pieces are to be checked as their commit would be, which says of none which one it fails by. */
  get asksForChecks(): boolean {
    return this.asksForPieces && this.#hasCommitFailed;
  }

  /**
   * Puts back what a batch did not handle, each for when it is to be tried again. Where some that were held
   * are free, others may be as well: these are due at once. `nowMs` is the database's clock.
   */
  async leave(
    tx: Transaction,
    mine: ClaimedBatch,
    handled: HandledApart & { readonly contended: readonly DueDeadline[] },
    { isApart }: { readonly isApart: boolean },
    nowMs: number,
  ): Promise<LeftAside> {
    const { failed, locked, left } = handled;
    const aside = [...[...failed, ...locked].map(({ due }) => due), ...left];
    const notDone = new Set(aside);
    const done = isApart ? mine.each.filter((one) => !notDone.has(one)) : [];
    const held = this.#putOff(locked);
    const untried = this.suspects.putBack(left, this.parts.clock.nowMs());
    const back = [...handled.putBack, ...handled.contended, ...held, ...untried];
    const also = await this.#alsoFree(tx, done, nowMs);
    await putBackDeadlines(tx, [...back, ...also]);
    await this.#setAside(tx, failed);
    const learn = (): void => {
      if (mine.count > 0) this.#learn(handled.succeeded, handled, held);
      this.suspects.moved([...untried, ...also], nowMs);
      this.suspects.forget(done);
    };
    return { aside, back, also, learn };
  }

  /** What others hold, as it comes back. */
  #putOff(locked: Aside['locked']): DueDeadline[] {
    const held = locked.map(({ due }) => due);
    return this.suspects.putOff(held, this.parts.clock.nowMs());
  }

  async #alsoFree(
    tx: Transaction,
    handled: readonly DueDeadline[],
    nowMs: number,
  ): Promise<DueDeadline[]> {
    const others = this.suspects.alsoFree(handled, nowMs);
    if (others.length === 0) return others;
    const dueAt = new Date(nowMs);
    const mine = await claimExactly(tx, this.kind, others);
    return mine.map((one) => ({ ...one, dueAt }));
  }

  /** Those that are back. A shard's sweep is not who watches slots. */
  armAgain(back: readonly DueDeadline[], shard: ShardWork | undefined): void {
    const unseen = shard ? back : back.filter(({ dueAt }) => !this.own.watch.expects(dueAt));
    this.parts.alarms.ensure(unseen);
  }

  #setAside(tx: Transaction, failed: Aside['failed']): Promise<void> {
    return setAside(tx, failed, this.parts, {
      maxFailures: this.own.maxFailures,
      mayHold: (failures) => this.own.health.handler.mayHold(failures),
    });
  }

  #learn(succeeded: number, { failed, locked }: Aside, held: readonly DueDeadline[]): void {
    const aside = [...failed, ...locked];
    this.#apartFor = aside.length > 0 ? APART_FOR : Math.max(0, this.#apartFor - 1);
    if (this.#apartFor === 0) this.#hasCommitFailed = false;
    this.heldUp.passed();
    this.suspects.add(held, this.parts.clock.nowMs());
    const fresh = failed.filter(({ due }) => due.failures === 0).length;
    const worn = failed.some(
      ({ due: { failures } }) =>
        failures + 1 >= this.own.maxFailures && !this.own.health.handler.mayHold(failures + 1),
    );
    this.own.health.handler.learn({ succeeded, fresh, worn }, failed[0]?.error);
    const [first] = aside;
    if (first) this.parts.telemetry.batchFailed(this.kind, aside.length, first.error);
  }

  /** What becomes of a batch that was rolled back; throws what no subject of it is to blame for. */
  async rolledBack(
    error: unknown,
    { claimed, limit, isApart, isChecked, drainers }: RolledBack,
    shard: ShardWork | undefined,
    total: DrainCounts,
  ): Promise<'more' | 'stopped'> {
    if (error instanceof HandlerFaultError) {
      this.own.health.handler.stop(error.cause);
      // Tells nothing of subjects.
      this.rates.forget();
      return 'stopped';
    }
    if (error instanceof TableLockedError) {
      // Once it is free, all go on as they did before: it tells nothing of subjects either.
      this.#apartFor = 0;
      this.rates.forget();
      throw error;
    }
    const silence = UnansweredError.in(error);
    if (silence) return this.#doubt(silence, limit, shard, total);
    // Where not even the claim succeeds, a smaller one may, if this one took too long.
    const mayGoOn = claimed.count > 0 ? isSubjectsFault(error) : isCanceledStatement(error);
    if (!mayGoOn) throw error;
    const failure = error instanceof RowHeldError ? error.failure : error;
    this.parts.telemetry.batchFailed(this.kind, claimed.count, failure);
    if (error instanceof RowHeldError && (await this.#triesAgain(drainers))) return 'more';
    this.#apartFor = APART_FOR;
    if (!isApart && claimed.count > 0) return 'more';
    if (!isChecked && claimed.count > 0) {
      // By what is deferred to the commit, as constraints may be: it can be looked at with each piece.
      this.#hasCommitFailed = true;
      return 'more';
    }
    // Savepoints do not help: the claim itself fails, or the commit all the same. Fewer, down to one.
    const [alone] = claimed.each;
    if (limit > 1) this.own.pace.failed(limit);
    // No subject is to blame, and trying on would not end.
    else if (!alone) throw error;
    else await this.#putAside({ due: alone, error }, shard, total);
    return 'more';
  }

  /** Where nobody else is at this kind, whoever has the row is none of ours. */
  async #triesAgain(drainers: number): Promise<boolean> {
    const { goingOn } = await batchesUnderWay(this.parts.dataSource, this.kind);
    return this.heldUp.triesAgain(drainers, goingOn > 0);
  }

  /** One for which the handler is silent also when it is alone is put aside. */
  async #doubt(
    silence: UnansweredError,
    limit: number,
    shard: ShardWork | undefined,
    total: DrainCounts,
  ): Promise<'more'> {
    const [first] = silence.piece;
    if (first && silence.piece.length === 1) {
      await this.#putAside({ due: first, error: silence }, shard, total);
    } else {
      this.parts.telemetry.batchFailed(this.kind, silence.piece.length, silence);
      this.suspects.add(silence.piece, this.parts.clock.nowMs());
      this.own.pace.failed(limit);
    }
    return 'more';
  }

  /** The only one of its batch, by a transaction of its own. */
  async #putAside(one: Failed, shard: ShardWork | undefined, total: DrainCounts): Promise<void> {
    const isHeld = isContention(one.error);
    const aside = { ...NOBODY, ...(isHeld ? { locked: [one] } : { failed: [one] }) };
    const counts = { ...noCounts(), ...(isHeld ? { found: 1, putBack: 1 } : { failed: 1 }) };
    const work = async (tx: Transaction): Promise<boolean> => {
      // The session that had it may still be ending, which Postgres says before it lets go.
      await tx.rows(`SET LOCAL lock_timeout = ${LETS_GO_WITHIN_MS}`);
      const mine = await claimExactly(tx, this.kind, [one.due], 'FOR UPDATE').catch(rowHeld);
      if (mine.length === 0) return false;
      const back = this.#putOff(aside.locked);
      await putBackDeadlines(tx, back);
      await this.#setAside(tx, aside.failed);
      await shard?.keep(tx, counts, 0);
      tx.afterCommit(() => {
        this.armAgain(back, shard);
        addCounts(total, counts);
        this.#learn(0, aside, back);
      });
      return true;
    };
    const isMine = await inTransaction(this.parts.dataSource, work).catch((error: unknown) => {
      if (error instanceof RowHeldError) return false;
      throw error;
    });
    // Somebody else has it by now, and may fail by it alike: it is told of all the same.
    if (!isMine) this.parts.telemetry.batchFailed(this.kind, 1, one.error);
  }
}

const rowHeld = (error: unknown): never => {
  throw isLockTimeout(error) ? new RowHeldError(error) : error;
};
