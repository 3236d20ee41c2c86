import { TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { readBalances } from '../money/balance';
import { ForeignMoney } from '../money/foreign-money';
import { OTHER_ATTEMPTS_TOLD } from '../money/hear-again';
import { BY_HAND, isBookedBeside, recordMovements } from '../money/movements';
import { requestRefunds } from '../money/request-refunds';
import { refundKey } from '../providers/refund-key';
import { LastcallError } from '../order/errors';
import { idOf } from '../order/given-id';
import { type ActionRun, recordAction } from '../order/operator-action';
import type { OrderView, RefundReason, RefundStatus } from '../order/order';
import { readOrder } from '../order/order-rows';
import { rehearse } from '../order/rehearse';
import { REFUND_ENTRY, type RefundEntry, refundNotFound } from './refunds';

export interface FinishRun extends ActionRun {
  /** What was sent, in minor units; needed where others have taken a part of the money, and no other than what is owed. */
  readonly amount?: number | undefined;
}

export interface FinishedRefund {
  readonly refund: RefundEntry;
  /** What was owed of it, as a refund of its own, where others have taken the rest. */
  readonly rest?: RefundEntry | undefined;
  readonly order: OrderView;
}

interface OwedRefund {
  readonly id: string;
  readonly status: RefundStatus;
  readonly attempt: number;
  readonly reason: RefundReason;
  readonly amount: string;
  readonly currency: string;
  readonly paymentId: string;
  readonly orderId: string;
}

/**
 * An operator ends a refund whose money has gone back by another way than its provider, as by bank transfer. Nothing
 * is sent any more. What the provider says of the attempts so far is about attempts before: one that it has
 * made after all is money that went back twice. Refused while a dispute is open. Where others have taken some of the
 * money meanwhile, the operator has to say how much was sent, and the refund is canceled for one of that amount.
 */
@Injectable()
export class FinishRefund {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
    private readonly foreign: ForeignMoney,
  ) {}

  /** @throws {LastcallError} refund_not_found, refund_not_settleable */
  async finish(
    refundId: string,
    { dryRun = false, amount, ...accountable }: FinishRun,
  ): Promise<FinishedRefund> {
    const id = idOf(refundId, () => refundNotFound(refundId));
    return rehearse(dryRun, this.dataSource, async (tx) => {
      const owed = await lockOwed(tx, id);
      const isBack = await isBookedBeside(tx, {
        ...{ paymentId: owed.paymentId, refundId: id, amount: Number(owed.amount) },
      });
      if (!isBack) await assertNotMade(tx, owed);
      const still = isBack ? 0 : await stillOwed(tx, owed);
      const isWhole = still === Number(owed.amount);
      const isOver = still === 0 && (isBack || owed.status !== 'needs_attention');
      const isAsSaid = amount === undefined ? isWhole || isOver : amount === still && still > 0;
      if (!isAsSaid) {
        throw notSettleable(id, whatIsOwed(owed, still), { owed: still });
      }
      const refund = await write(tx, owed, isWhole ? 'succeeded' : 'canceled');
      const rest = isWhole || still === 0 ? undefined : await this.#finishRest(tx, owed, still);
      // Another refund of the payment was cut while this one was owed as well: what it was cut by is owed again.
      if (isBack) await this.foreign.settle(tx, [owed.orderId]);
      await recordAction(tx, 'refund.done', 'refund', rest ? [id, rest.id] : [id], accountable);
      return { refund, rest, order: await readOrder(tx, owed.orderId) };
    });
  }

  /** What was sent of a refund that is canceled by now: so much and no other amount counts as sent. */
  async #finishRest(tx: Transaction, owed: OwedRefund, amount: number): Promise<RefundEntry> {
    const { paymentId, reason, currency } = owed;
    const sent = { paymentId, reason, currency, amount };
    const [id] = await requestRefunds(tx, this.timeouts, [sent], 'operator');
    const rest = id === undefined ? undefined : await lockOwed(tx, id);
    // Another refund of this payment may have ended meanwhile, by its own row alone.
    if (!rest || Number(rest.amount) !== amount) {
      throw notSettleable(owed.id, 'other money has moved meanwhile: rehearse it again', {
        owed: Number(rest?.amount ?? 0),
      });
    }
    return write(tx, rest, 'succeeded');
  }
}

/** The order's row first, as of whoever changes its money. */
async function lockOwed(tx: Transaction, id: string): Promise<OwedRefund> {
  await tx.rows(
    `SELECT FROM orders WHERE id = (
       SELECT order_id FROM payments WHERE id = (SELECT payment_id FROM refunds WHERE id = $1))
        FOR NO KEY UPDATE`,
    [id],
  );
  const [owed] = await tx.rows<OwedRefund>(
    `SELECT r.id, r.status, r.attempt, r.reason, r.amount, r.currency, r.payment_id AS "paymentId",
            p.order_id AS "orderId"
       FROM refunds r JOIN payments p ON p.id = r.payment_id
      WHERE r.id = $1 FOR NO KEY UPDATE OF r`,
    [id],
  );
  if (!owed) throw refundNotFound(id);
  const { status } = owed;
  if (status === 'succeeded') throw notSettleable(id, 'it has succeeded already', { status });
  if (status === 'canceled') throw notSettleable(id, await whyCanceled(tx, id), { status });
  return owed;
}

/** Whoever repeats what an operator has done hears so: it reads as if nothing had been sent otherwise. */
async function whyCanceled(tx: Transaction, id: string): Promise<string> {
  const done = await tx.rows(
    `SELECT FROM operator_actions WHERE action = 'refund.done' AND subject_id = $1 LIMIT 1`,
    [id],
  );
  return done.length > 0 ? 'an operator has settled it already' : 'it is owed no longer';
}

/** An attempt that its provider says it has made is not booked yet; to take it for another way would count it twice. */
async function assertNotMade(
  tx: Transaction,
  { id, orderId, paymentId }: OwedRefund,
): Promise<void> {
  const [made] = await tx.rows<{ ref: string }>(
    `SELECT told.ref FROM (
       SELECT notice ->> 'providerRefundId' AS ref FROM webhook_events
        WHERE ${OTHER_ATTEMPTS_TOLD('$1', '$2')}) AS told
      WHERE NOT EXISTS (SELECT FROM money_movements WHERE payment_id = $3 AND ref = told.ref
                           AND kind IN ('refund_failed', 'refund_reversed', 'foreign_refund_failed')) LIMIT 1`,
    [orderId, id, paymentId],
  );
  if (!made) return;
  const why = `its provider says that it has made ${made.ref}: reconciling books that`;
  throw notSettleable(id, why, { providerRefundId: made.ref });
}

/**
 * What is owed of it, in minor units: what the buyer's bank has, or somebody has sent back in the provider's dashboard,
 * went to the buyer as well.
 * @throws {LastcallError} refund_not_settleable where a dispute is open
 */
async function stillOwed(tx: Transaction, owed: OwedRefund): Promise<number> {
  const { id, orderId, paymentId } = owed;
  const amount = Number(owed.amount);
  const balance = (await readBalances(tx, [orderId])).find((one) => one.paymentId === paymentId);
  if (!balance) return amount;
  if (balance.inDispute > 0) {
    const why =
      'a dispute is open, and nobody knows yet whether it is owed; once that is won, it is';
    throw notSettleable(id, why, { inDispute: balance.inDispute });
  }
  const { captured, refunded, refunding, disputed } = balance;
  const tooMuch = refunded + refunding + disputed - captured;
  return Math.max(0, amount - Math.max(0, tooMuch));
}

/** Of one that waits for a person retrying leaves what is owed; one that its provider was asked for nobody else would end. */
function whatIsOwed({ status, amount, currency }: OwedRefund, still: number): string {
  const taken = still < Number(amount) ? 'others have taken some of its money, and ' : '';
  const what = `${taken}${still} of ${amount} ${currency} (minor units) are owed`;
  const canBeRetried = status === 'needs_attention';
  if (still === 0) {
    return `${what}: ${canBeRetried ? 'refunds retry ends it' : 'settle it without an amount'}`;
  }
  const settle =
    'settle it with this amount (lastcall refunds settle --as done --amount, or amount)';
  return canBeRetried
    ? `${what}: once that is sent, ${settle}; refunds retry has its provider send it instead: do not, if you have sent all of it already`
    : `${what}: its provider may make it still, so look at its statements first, then ${settle}, which has nothing more sent, and send it last`;
}

/** `canceled`: the money is back by an attempt that is booked already, or owed no longer. */
async function write(
  tx: Transaction,
  owed: OwedRefund,
  status: 'succeeded' | 'canceled',
): Promise<RefundEntry> {
  const { id, orderId, paymentId, currency } = owed;
  const [entry] = await tx.rows<RefundEntry>(
    `UPDATE refunds r SET status = $2, attempt = r.attempt + 1, provider_refund_id = NULL, error = NULL,
            updated_at = now(), finished_at = now()
       FROM payments p WHERE p.id = r.payment_id AND r.id = $1
     RETURNING ${REFUND_ENTRY}`,
    [id, status],
  );
  const refund = entry as RefundEntry;
  const money = { orderId, paymentId, amount: Number(owed.amount), currency } as const;
  const moved =
    status === 'canceled'
      ? ({ kind: 'refund_canceled', ref: id, reason: 'not_owed' } as const)
      : ({
          kind: 'refund_succeeded',
          ref: refundKey(id, refund.attempt),
          reason: BY_HAND,
        } as const);
  await recordMovements(tx, [{ ...money, ...moved, source: 'operator' }]);
  return refund;
}

const notSettleable = (
  id: string,
  why: string,
  fields: Readonly<Record<string, unknown>>,
): LastcallError => new LastcallError('refund_not_settleable', `Refund ${id}: ${why}`, fields);
