import {
  type BatchResult,
  type Claimant,
  type DeadlineHandler,
  type DueDeadline,
  failpoint,
  isCanceledStatement,
  isLockTimeout,
  TimeoutService,
  type Transaction,
  Uuids,
  type WholeBatch,
  type WholeBatches,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { HandlesKind } from '../order/handles-kind';
import { ORDER_LOCK_PREFIX, orderLockKey } from '../order/order';
import { OrderGuard } from '../order/order-guard';

/**
 * A batch waits no longer for an order's row, which only somebody beside the guard can hold; and no longer
 * for all of them: who changes one order after the other would keep it waiting at each.
 */
const ROW_WAIT_MS = 10;
const UPDATE_LIMIT_MS = 1_000;
/**
 * What somebody holds is looked at again after a part of the time for which it has been found held, from
 * the shortest to the longest; each at another instant, so that who is due between them is not kept waiting.
 */
const PART_OF_HELD = 1 / 4;
const [SHORTEST_MS, LONGEST_MS] = [50, 30_000];
/** Who was met once may be met by each batch: none waits again so soon. */
const NO_WAITING_FOR_MS = 10_000;

/**
 * The payment deadline: closes overdue orders in sets. The fast lane takes those without a payment
 * open at the provider, nearly all; the others go behind the fence, to the careful lane.
 */
@Injectable()
@HandlesKind('payment')
export class PaymentDeadline implements DeadlineHandler {
  readonly maxBatch = 12_000;
  readonly lockKey = orderLockKey;
  readonly whole: WholeBatches = {
    lockPrefix: ORDER_LOCK_PREFIX,
    handle: (batch, tx, by) => this.#closeWhole(batch, tx, by),
  };
  #waitsFromMs = 0;

  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
  ) {}

  async handle(due: readonly DueDeadline[], tx: Transaction, by: Claimant): Promise<BatchResult> {
    const subjectIds = Uuids.of(due.map(({ subjectId }) => subjectId));
    return this.#closeFree({ subjectIds, each: due }, tx, by);
  }

  /** At once those that nobody ever began to pay, nearly always all; the rest as they come. */
  async #closeWhole(batch: WholeBatch, tx: Transaction, by: Claimant): Promise<BatchResult> {
    const closed = await this.#closeUnpaid(batch.subjectIds, tx, by);
    if (closed > 0) await failpoint('close.changed');
    return closed === batch.subjectIds.count
      ? { changed: closed, lost: 0 }
      : this.#closeFree(batch, tx, by, closed);
  }

  /**
   * Closes without having locked the rows before, as the guard's locks are held: their holders wait for
   * nobody of ours. Says how many.
   */
  async #closeUnpaid(orderIds: Uuids, tx: Transaction, by: Claimant): Promise<number> {
    if (performance.now() < this.#waitsFromMs) return 0;
    const change = { ...overdue(orderIds, by), to: 'closed', onlyIfNoPayments: true } as const;
    const begunMs = performance.now();
    const waitNoMore = (): void => void (this.#waitsFromMs = performance.now() + NO_WAITING_FOR_MS);
    try {
      const closed = await tx.attempt(async (part) => {
        const limited = part.hot<LimitsBefore>(WITHIN_LIMITS, []);
        const [[before], changed] = await Promise.all([
          limited,
          this.guard.changeMany(part, change),
        ]);
        await part.hot(AS_BEFORE, [before?.row_wait, before?.statement_limit]);
        return changed;
      });
      if (performance.now() - begunMs > UPDATE_LIMIT_MS / 2) waitNoMore();
      return closed;
    } catch (error) {
      if (!isLockTimeout(error) && !isCanceledStatement(error)) throw error;
      waitNoMore();
      return 0;
    }
  }

  /**
   * Waits for nobody: what somebody is changing at this moment is passed over, and comes back. So many of
   * the batch are `closed` already.
   */
  async #closeFree(
    batch: WholeBatch,
    tx: Transaction,
    by: Claimant,
    closed = 0,
  ): Promise<BatchResult> {
    const { subjectIds } = batch;
    const rows = await tx.hot<{ id: string }>(LOCK_OVERDUE, [subjectIds.array]);
    const changed = closed + (await this.#close(tx, Uuids.of(rows.map(({ id }) => id)), by));
    const putBack = changed < subjectIds.count ? await this.#stillPending(tx, batch) : [];
    return { changed, lost: subjectIds.count - changed - putBack.length, putBack };
  }

  /** Closes orders whose rows are locked and overdue, or fences them; says how many. */
  async #close(tx: Transaction, orderIds: Uuids, by: Claimant): Promise<number> {
    const change = overdue(orderIds, by);
    // A statement after the locks: its snapshot is newer, so no payment slips between.
    const closed = await this.guard.changeMany(tx, {
      ...change,
      to: 'closed',
      onlyIfNoPaymentOpen: true,
    });
    // Those that are closed are pending no more: nobody has to find out which they are.
    const fenced =
      closed < orderIds.count ? await this.guard.changeMany(tx, { ...change, to: 'closing' }) : 0;
    if (fenced > 0) await failpoint('closing.fencing');
    if (fenced > 0) tx.afterCommit(() => this.timeouts.nudge('closing'));
    const changed = closed + fenced;
    if (changed > 0) await failpoint('close.changed');
    return changed;
  }

  /** Of an order that was given more time, a newer deadline is armed already. */
  async #stillPending(tx: Transaction, batch: WholeBatch): Promise<DueDeadline[]> {
    const rows = await tx.hot<StillPending>(STILL_PENDING, [batch.subjectIds.array]);
    if (rows.length === 0) return [];
    const pending = new Map(rows.map((row) => [row.id, row]));
    return batch.each.flatMap((one) => {
      const row = pending.get(one.subjectId);
      if (!row || one.version < (row.since_version ?? one.version)) return [];
      return [{ ...one, dueAt: row.is_overdue ? againAt(row, one) : row.closes_at }];
    });
  }
}

const overdue = (orderIds: Uuids, by: Claimant) => ({
  ...{ orderIds, by, onlyIfOverdue: true },
  from: 'pending_payment' as const,
  closeReason: 'payment_timeout' as const,
});

interface LimitsBefore {
  readonly row_wait: string;
  readonly statement_limit: string;
}

interface StillPending {
  readonly id: string;
  readonly closes_at: Date;
  readonly is_overdue: boolean;
  readonly now: Date;
  /** Null: whichever. */
  readonly since_version: number | null;
}

/** Sent with the update, ahead of it. OFFSET 0: what was before is read before it is changed. */
const WITHIN_LIMITS = `SELECT *, set_config('lock_timeout', '${ROW_WAIT_MS}', true),
       set_config('statement_timeout', '${UPDATE_LIMIT_MS}', true)
  FROM (SELECT current_setting('lock_timeout') AS row_wait,
               current_setting('statement_timeout') AS statement_limit OFFSET 0) AS before`;
/** Releasing a savepoint does not set them back. */
const AS_BEFORE = `SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)`;

const PENDING = `FROM orders WHERE id = ANY ($1::uuid[]) AND status = 'pending_payment'`;
const OVERDUE = `${PENDING} AND closes_at <= now()`;

/** Locks the rows that are overdue and pending; waits for nobody, so it cannot deadlock. */
const LOCK_OVERDUE = `SELECT id ${OVERDUE} FOR NO KEY UPDATE SKIP LOCKED`;

/** One that is not due yet, as its deadline was moved by hand, comes back when it is. */
const STILL_PENDING = `SELECT id, closes_at, closes_at <= now() AS is_overdue, now(),
       CASE WHEN closes_at > now() THEN version END AS since_version
  ${PENDING} AND closes_at IS NOT NULL`;

/** Its deadline was put off to when it has come now, the last time that it was found held. */
function againAt({ now, closes_at: closesAt }: StillPending, { dueAt }: DueDeadline): Date {
  const heldMs = dueAt.getTime() - closesAt.getTime();
  const mostMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, PART_OF_HELD * heldMs));
  return new Date(now.getTime() + mostMs * (0.5 + Math.random() / 2));
}
