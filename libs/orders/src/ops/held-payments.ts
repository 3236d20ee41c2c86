import { queryRows, TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { noteUnowed } from '../money/cancel-unowed';
import type { HoldReason } from '../money/capture.judgement';
import { acceptLateMoney } from './accept-late-money';
import { correctCapture, holdAgain } from './correct-capture';
import { LastcallError } from '../order/errors';
import { idOf } from '../order/given-id';
import type { RefundReason } from '../order/order';
import type { OrderStatus } from '../order/order.lifecycle';
import { ForeignMoney } from '../money/foreign-money';
import { OrderGuard } from '../order/order-guard';
import { requestRefunds } from '../money/request-refunds';
import { type Accountable, recordAction } from '../order/operator-action';
import { type Page, pageOf } from '../order/page';
import { isPseudonym } from '../order/subject';

/** Money that waits for an operator. */
export interface HeldPayment {
  readonly id: string;
  readonly orderId: string;
  readonly orderStatus: OrderStatus;
  readonly provider: string;
  readonly providerPaymentId: string | null;
  readonly holdReason: HoldReason;
  /** What was asked for, and what the provider took. */
  readonly amount: number;
  readonly currency: string;
  readonly capturedAmount: number;
  readonly capturedCurrency: string;
  readonly paidAt: string | null;
  readonly recordedAt: string | null;
}

/**
 * `refund`: all of it goes back, and an order that it had paid is canceled. `keep`: it stays with the
 * shop, and the order stays as it is. `accept`: money that came late pays its order after all, where
 * its stock can be had again and its customer has not been erased. `correct`: what its provider has told since counts
 * as taken, and not what was recorded; what was on hold before that was told still waits for one of the others.
 */
export type PaymentDecision = 'refund' | 'keep' | 'accept' | 'correct';

export interface SettledPayment {
  readonly decision: PaymentDecision;
  readonly payment: HeldPayment;
  /** The refund that was requested; null where none was, as of money that has gone back already. */
  readonly refundId: string | null;
  /** What goes back by it, in minor units, also in a rehearsal: what was left of what was taken. */
  readonly refundAmount: number;
  /** Of `correct`: what counts as taken from now on, in minor units. */
  readonly correctedAmount?: number | undefined;
}

export interface SettleRun extends Accountable {
  /** Runs the real transaction and rolls it back. */
  readonly dryRun?: boolean;
  /** Of `correct`: the amount that was looked at. Where its provider has told another one since, nothing is done. */
  readonly seen?: number | undefined;
}

const ENTRY = `p.id, p.order_id AS "orderId", o.status AS "orderStatus", p.provider,
  p.provider_payment_id AS "providerPaymentId", p.hold_reason AS "holdReason",
  p.amount::float8 AS amount, p.currency, p.captured_amount::float8 AS "capturedAmount",
  p.captured_currency AS "capturedCurrency", p.paid_at AS "paidAt", p.recorded_at AS "recordedAt"`;

/** A page of payments on hold, newest first. */
@Injectable()
export class ListHeldPayments {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  async list(filter: {
    readonly limit: number;
    readonly cursor?: string | undefined;
  }): Promise<Page<HeldPayment>> {
    const rows = await queryRows<HeldPayment>(
      this.dataSource,
      `SELECT ${ENTRY} FROM payments p JOIN orders o ON o.id = p.order_id
        WHERE p.hold_reason IS NOT NULL AND ($1::uuid IS NULL OR p.id < $1)
        ORDER BY p.id DESC LIMIT $2`,
      [filter.cursor ?? null, filter.limit + 1],
    );
    return pageOf(rows, filter.limit);
  }
}

/** An operator decides what becomes of money on hold: it goes back, or it stays. */
@Injectable()
export class SettlePayment {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
    private readonly guard: OrderGuard,
    private readonly money: ForeignMoney,
  ) {}

  /** @throws {LastcallError} payment_not_found, payment_not_settleable, busy */
  async settle(
    paymentId: string,
    decision: PaymentDecision,
    { dryRun = false, seen, ...accountable }: SettleRun,
  ): Promise<SettledPayment> {
    const id = idOf(paymentId, () => paymentNotFound(paymentId));
    const orderId = await this.#orderOf(id);
    return this.guard.withOrder(
      orderId,
      async ({ customerId }, tx) => {
        if (decision === 'accept') assertHasCustomer(id, customerId);
        const outcome = await this.#decide(tx, id, decision, accountable);
        const { correctedAmount } = outcome;
        if (decision === 'correct' && seen !== undefined && seen !== correctedAmount) {
          throw notSettleable(id, `${correctedAmount} has been told since: look at it again`);
        }
        return dryRun ? { ...outcome, refundId: null } : outcome;
      },
      { dryRun },
    );
  }

  async #orderOf(paymentId: string): Promise<string> {
    const [row] = await queryRows<{ order_id: string }>(
      this.dataSource,
      'SELECT order_id FROM payments WHERE id = $1',
      [paymentId],
    );
    if (!row) throw paymentNotFound(paymentId);
    return row.order_id;
  }

  async #decide(
    tx: Transaction,
    paymentId: string,
    decision: PaymentDecision,
    accountable: Accountable,
  ): Promise<SettledPayment> {
    const payment = await lockHeld(tx, paymentId);
    if (decision === 'accept') {
      const why = await acceptLateMoney(tx, this.guard, payment, accountable);
      if (why !== undefined) throw notSettleable(paymentId, why);
    }
    const corrected =
      decision === 'correct' ? await correctCapture(tx, this.timeouts, payment) : undefined;
    if (typeof corrected === 'string') throw notSettleable(paymentId, corrected);
    await release(tx, paymentId);
    const refund = decision === 'refund' ? await this.#refund(tx, payment) : NO_REFUND;
    const staysHeld = decision === 'correct' && payment.holdReason !== 'capture_changed';
    await (staysHeld ? holdAgain(tx, payment) : endWebhooks(tx, payment));
    await recordAction(tx, actionOf(decision, payment), 'payment', [paymentId], accountable);
    // A paid order whose money goes back must not be shipped.
    await this.money.settle(tx, [payment.orderId], {
      by: 'operator',
      closeReason: 'operator_canceled',
      ...accountable,
    });
    return { decision, payment, ...refund, correctedAmount: corrected };
  }

  async #refund(tx: Transaction, payment: HeldPayment): Promise<RequestedRefund> {
    const { id: paymentId, capturedAmount: amount, capturedCurrency: currency } = payment;
    if (amount === 0) throw notSettleable(paymentId, 'nothing was taken, so nothing can go back');
    const reason = REFUND_REASONS[payment.holdReason];
    const refund = { paymentId, reason, amount, currency };
    const [refundId] = await requestRefunds(tx, this.timeouts, [refund], 'operator');
    if (refundId) {
      const rows = await tx.rows<{ amount: string }>('SELECT amount FROM refunds WHERE id = $1', [
        refundId,
      ]);
      return { refundId, refundAmount: Number(rows[0]?.amount) };
    }
    if (reason === 'operator') {
      throw notSettleable(
        paymentId,
        'all of it has gone back, is going already, or a dispute has it: keep it, once no dispute is open',
      );
    }
    // Somebody has sent it back by hand, or a dispute has it: what comes back of that is not the shop's to keep.
    await noteUnowed(tx, [refund]);
    return NO_REFUND;
  }
}

type RequestedRefund = Pick<SettledPayment, 'refundId' | 'refundAmount'>;
const NO_REFUND: RequestedRefund = { refundId: null, refundAmount: 0 };

/** `operator`: money that was put on hold for a later notice, and may have paid its order. */
const REFUND_REASONS: Readonly<Record<HoldReason, RefundReason>> = {
  late_payment: 'late_payment',
  amount_mismatch: 'payment_mismatch',
  currency_mismatch: 'payment_mismatch',
  reference_mismatch: 'payment_mismatch',
  capture_changed: 'operator',
};

/** `payment.keep` is money beside what orders cost; `payment.confirm` is money as it was recorded. */
function actionOf(decision: PaymentDecision, { holdReason }: HeldPayment) {
  if (decision !== 'keep') return `payment.${decision}` as const;
  return holdReason === 'capture_changed' ? 'payment.confirm' : 'payment.keep';
}

/** What was told of this money is settled with it: its webhooks wait for nobody any more. */
async function endWebhooks(tx: Transaction, payment: HeldPayment): Promise<void> {
  await tx.rows(
    `UPDATE webhook_events SET status = 'processed', result = 'settled', processed_at = now()
      WHERE status = 'held' AND result = 'money_on_hold' AND provider = $1
        AND notice ->> 'providerPaymentId' = $2`,
    [payment.provider, payment.providerPaymentId],
  );
}

/** Ends the hold, and says so among the payment's movements. */
async function release(tx: Transaction, paymentId: string): Promise<void> {
  await tx.rows('UPDATE payments SET hold_reason = NULL WHERE id = $1', [paymentId]);
  await tx.rows(
    `INSERT INTO money_movements
            (order_id, payment_id, kind, ref, amount, currency, source, reason)
     SELECT order_id, payment_id, 'released', ref, amount, currency, 'operator', reason
       FROM money_movements WHERE payment_id = $1 AND kind = 'held'
     ON CONFLICT DO NOTHING`,
    [paymentId],
  );
}

/** The order of a customer who was erased is nobody's to have. */
function assertHasCustomer(paymentId: string, customerId: string): void {
  if (!isPseudonym(customerId)) return;
  const why = 'its customer has been erased, and nobody could have the order: refund or keep it';
  throw notSettleable(paymentId, why);
}

async function lockHeld(tx: Transaction, paymentId: string): Promise<HeldPayment> {
  const [payment] = await tx.rows<HeldPayment & { holdReason: HoldReason | null }>(
    `SELECT ${ENTRY} FROM payments p JOIN orders o ON o.id = p.order_id
      WHERE p.id = $1 FOR NO KEY UPDATE OF p`,
    [paymentId],
  );
  if (!payment?.holdReason) throw notSettleable(paymentId, 'it is not on hold');
  return payment;
}

const paymentNotFound = (paymentId: string): LastcallError =>
  new LastcallError('payment_not_found', `There is no payment ${paymentId}`);

function notSettleable(paymentId: string, why: string): LastcallError {
  return new LastcallError('payment_not_settleable', `Payment ${paymentId}: ${why}`, { paymentId });
}
