import { inTransaction, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CancelWishes } from '../closing/cancel-wishes';
import { DATABASE } from '../data-source';
import { findOwedRefund, findRefundByKey } from '../money/find-refund';
import { ForeignMoney } from '../money/foreign-money';
import { RecordCaptures } from '../money/record-captures';
import { type SettledAnswer, SettleRefunds } from '../money/settle-refunds';
import { LastcallError } from '../order/errors';
import { type Accountable, recordAction } from '../order/operator-action';
import { OrderGuard } from '../order/order-guard';
import type { Fix } from './reconcile-finding';
import { AGREEING } from './reconcile.judgement';

type FixOf<Type extends Fix['type']> = Extract<Fix, { type: Type }>;

/** Settles differences that have one safe answer, as the notice that was lost would have done. */
@Injectable()
export class ReconcileFixes {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly guard: OrderGuard,
    private readonly captures: RecordCaptures,
    private readonly wishes: CancelWishes,
    private readonly refunds: SettleRefunds,
    private readonly foreign: ForeignMoney,
  ) {}

  /**
   * True when our books say the same as the provider now.
   * @throws {Error} what this payment's order fails with, as by a hook of the host's, or the database
   * @throws {LastcallError} busy: somebody is changing the order
   */
  async apply(fix: Fix, operator: Accountable): Promise<boolean> {
    switch (fix.type) {
      case 'refund':
        return this.#settleRefund(fix, operator);
      case 'foreign':
        return this.#recordForeign(fix, operator);
      case 'capture':
        return this.#recordCapture(fix, operator);
    }
  }

  #settleRefund(
    { refundId, attempt, answer }: FixOf<'refund'>,
    operator: Accountable,
  ): Promise<boolean> {
    return inTransaction(this.dataSource, async (tx) => {
      const isSettled = await this.refunds.settle(tx, refundId, attempt, answer, 'reconcile');
      if (isSettled === 'busy') throw busy();
      if (isSettled) await recordAction(tx, 'reconcile.settle', 'refund', [refundId], operator);
      // Else its notice may have come while the books were compared, and nothing is left to settle.
      return isSettled || saysTheSame(tx, refundId, answer);
    });
  }

  #recordForeign({ move, mayBeOurs }: FixOf<'foreign'>, operator: Accountable): Promise<boolean> {
    return inTransaction(this.dataSource, async (tx) => {
      const { providerId: providerRefundId } = move;
      const made = { ...move, providerRefundId, hasSucceeded: true };
      const owed = mayBeOurs && (await findOwedRefund(tx, made));
      if (owed === 'busy') throw busy();
      if (owed) {
        const answer = { state: 'SUCCEEDED', providerRefundId } as const;
        const { refundId, attempt } = owed;
        const isSettled = await this.refunds.settle(tx, refundId, attempt, answer, 'reconcile');
        if (isSettled === 'busy') throw busy();
        if (isSettled) await recordAction(tx, 'reconcile.settle', 'refund', [refundId], operator);
        return isSettled;
      }
      // Whoever tells of its end meanwhile sees this, or is seen.
      const beside = move.besideRefundId && (await findRefundByKey(tx, move.besideRefundId));
      if (beside === 'busy') throw busy();
      const outcome = await this.foreign.record(tx, move, 'reconcile');
      if (outcome === 'busy') throw busy();
      if (outcome === 'recorded') {
        await recordAction(tx, 'reconcile.settle', 'payment', [move.paymentId], operator);
      }
      return outcome === 'recorded' || outcome === 'known';
    });
  }

  #recordCapture({ orderId, capture }: FixOf<'capture'>, operator: Accountable): Promise<boolean> {
    return this.guard.withOrder(orderId, async (_order, tx) => {
      const outcomes = await this.captures.record(tx, [capture], 'reconcile');
      await this.wishes.carryOut(tx, [capture.paymentId], outcomes);
      const [outcome] = outcomes;
      if (outcome === 'busy') throw busy();
      if (outcome === 'unknown_payment' || outcome === 'id_of_another') return false;
      // Known: its webhook came while the books were compared, and nothing is left to settle.
      if (outcome !== 'known') {
        await recordAction(tx, 'reconcile.settle', 'payment', [capture.paymentId], operator);
      }
      return true;
    });
  }
}

async function saysTheSame(
  tx: Transaction,
  refundId: string,
  { state }: SettledAnswer,
): Promise<boolean> {
  const found = await tx.rows('SELECT FROM refunds WHERE id = $1 AND status = ANY ($2::text[])', [
    refundId,
    AGREEING[state],
  ]);
  return found.length > 0;
}

const busy = (): LastcallError =>
  new LastcallError('busy', 'Somebody is changing this order; the next run sees what came of it');
