import type { Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { readBalances } from '../money/balance';
import { OTHER_ATTEMPTS_TOLD } from '../money/hear-again';
import { BY_HAND, isBookedBeside, recordMovements } from '../money/movements';
import { refundKey } from '../providers/refund-key';
import { LastcallError } from '../order/errors';
import { idOf } from '../order/given-id';
import { type ActionRun, recordAction } from '../order/operator-action';
import type { OrderView, RefundStatus } from '../order/order';
import { readOrder } from '../order/order-rows';
import { rehearse } from '../order/rehearse';
import { REFUND_ENTRY, type RefundEntry, refundNotFound } from './refunds';

export interface FinishedRefund {
  readonly refund: RefundEntry;
  readonly order: OrderView;
}

interface OwedRefund {
  readonly id: string;
  readonly status: RefundStatus;
  readonly attempt: number;
  readonly amount: string;
  readonly currency: string;
  readonly paymentId: string;
  readonly orderId: string;
}

/**
 * An operator ends a refund whose money has gone back by another way than its provider, as by bank transfer. Nothing
 * is sent any more. What the provider says of the attempts so far is about attempts before: one that it has
 * made after all is money that went back twice. Refused while a dispute is open, and where others have taken so much
 * of the money meanwhile that less is owed.
 */
@Injectable()
export class FinishRefund {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /** @throws {LastcallError} refund_not_found, refund_not_settleable */
  async finish(
    refundId: string,
    { dryRun = false, ...accountable }: ActionRun,
  ): Promise<FinishedRefund> {
    const id = idOf(refundId, () => refundNotFound(refundId));
    return rehearse(dryRun, this.dataSource, async (tx) => {
      const owed = await lockOwed(tx, id);
      const isBack = await isBookedBeside(tx, {
        ...{ paymentId: owed.paymentId, refundId: id, amount: Number(owed.amount) },
      });
      if (!isBack) await assertNotMade(tx, owed);
      const isOver = isBack || (await isOwedNoLonger(tx, owed));
      const refund = await write(tx, owed, isOver ? 'canceled' : 'succeeded');
      await recordAction(tx, 'refund.done', 'refund', [id], accountable);
      return { refund, order: await readOrder(tx, owed.orderId) };
    });
  }
}

async function lockOwed(tx: Transaction, id: string): Promise<OwedRefund> {
  const [owed] = await tx.rows<OwedRefund>(
    `SELECT r.id, r.status, r.attempt, r.amount, r.currency, r.payment_id AS "paymentId",
            p.order_id AS "orderId"
       FROM refunds r JOIN payments p ON p.id = r.payment_id
      WHERE r.id = $1 FOR NO KEY UPDATE OF r`,
    [id],
  );
  if (!owed) throw refundNotFound(id);
  const { status } = owed;
  if (status === 'succeeded') throw notSettleable(id, 'it has succeeded already', { status });
  if (status === 'canceled') throw notSettleable(id, 'it is owed no longer', { status });
  return owed;
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
 * True where others have taken all of its money: what the buyer's bank has, or somebody has sent back in the
 * provider's dashboard, went to the buyer as well. Retrying tells so of one that waits for a person, and leaves
 * what is owed of it; of one that its provider was asked for nobody else would, where that never answers.
 * @throws {LastcallError} refund_not_settleable where a dispute is open, and where less is owed, but something
 */
async function isOwedNoLonger(tx: Transaction, owed: OwedRefund): Promise<boolean> {
  const { id, orderId, paymentId, amount, currency, status } = owed;
  const balance = (await readBalances(tx, [orderId])).find((one) => one.paymentId === paymentId);
  if (!balance) return false;
  if (balance.inDispute > 0) {
    const why =
      'a dispute is open, and nobody knows yet whether it is owed; once that is won, it is';
    throw notSettleable(id, why, { inDispute: balance.inDispute });
  }
  const { captured, refunded, refunding, disputed } = balance;
  const tooMuch = refunded + refunding + disputed - captured;
  if (tooMuch <= 0) return false;
  const still = Math.max(0, Number(amount) - tooMuch);
  const canBeRetried = status === 'needs_attention';
  if (still === 0 && !canBeRetried) return true;
  const next = canBeRetried
    ? 'refunds retry leaves that, and sends it: do not, if you have sent all of it already'
    : 'it is seen to its end by itself';
  const why =
    `others have taken some of its money, and ${still} of ${amount} ${currency} ` +
    `(minor units) are owed: ${next}`;
  throw notSettleable(id, why, { owed: still });
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
