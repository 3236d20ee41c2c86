import { TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import type { RefundStatus } from '../order/order';
import type { RefundAnswer } from '../providers/payment-provider';
import { refundKey } from '../providers/refund-key';
import { ForeignMoney } from './foreign-money';
import { hearOtherAttemptsAgain } from './hear-again';
import {
  isBookedBeside,
  isRecordedAsFailed,
  type Movement,
  type MovementKind,
  type MovementSource,
  recordMovements,
} from './movements';
import {
  judgeRefund,
  pauseAfterFailureMs,
  type RefundFacts,
  type RefundJudgement,
} from './refund.judgement';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/** An answer that says something. */
export type SettledAnswer = Exclude<RefundAnswer, { state: 'UNKNOWN' }>;

interface RefundRow {
  status: RefundStatus;
  attempt: number;
  provider_refund_id: string | null;
  order_id: string;
  payment_id: string;
  amount: string;
  currency: string;
}

/** Applies what the provider says of a refund, by answer or by webhook, in whatever order. */
@Injectable()
export class SettleRefunds {
  constructor(
    private readonly timeouts: TimeoutService,
    private readonly foreign: ForeignMoney,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /**
   * False when the answer changes nothing: it is known, or about an attempt that is over. `busy`: somebody holds the
   * order whose money it leaves without a home, so nothing was done, and it has to be told again.
   */
  async settle(
    tx: Transaction,
    refundId: string,
    attempt: number,
    answer: SettledAnswer,
    source: MovementSource,
  ): Promise<boolean | 'busy'> {
    const [row] = await tx.rows<RefundRow>(
      `SELECT r.status, r.attempt, r.provider_refund_id, r.payment_id, r.amount, r.currency,
              p.order_id
         FROM refunds r JOIN payments p ON p.id = r.payment_id
        WHERE r.id = $1 FOR NO KEY UPDATE OF r`,
      [refundId],
    );
    if (!row) return false;
    const { status, provider_refund_id: providerRefundId } = row;
    const { order_id: orderId, payment_id: paymentId, currency } = row;
    const amount = Number(row.amount);
    // What is told of the refund by which ours is over is about that, whichever attempt has made it.
    const isNamed = providerRefundId !== null && answer.providerRefundId === providerRefundId;
    const told = isNamed ? row.attempt : attempt;
    const ref = answer.providerRefundId || providerRefundId || refundKey(refundId, attempt);
    // A success without an id names none that failed: somebody may have made it by hand.
    const named = answer.state === 'FAILED' ? ref : answer.providerRefundId;
    const hasFailed = await isRecordedAsFailed(tx, paymentId, named);
    // What the provider will not take, it has not made: the refund is over by one that another attempt has.
    const isRefusal = source === 'answer' && !answer.providerRefundId && providerRefundId !== null;
    const isBackByAnother =
      status === 'succeeded' && (isRefusal || ref !== (providerRefundId ?? ref));
    const isMadeBeside =
      answer.state === 'FAILED' && (await isBookedBeside(tx, { paymentId, refundId, amount }));
    const facts = { status, attempt: row.attempt, hasFailed, isBackByAnother, isMadeBeside };
    const judgement = judgeRefund(facts, told, answer);
    const reason = answer.state === 'FAILED' ? answer.why : null;
    const money = { orderId, paymentId, ref, amount, currency, source, reason };
    if (judgement.to === 'unchanged') {
      await this.#noteFailure(tx, answer, money);
      return false;
    }
    if (judgement.to === 'canceled' && !(await lockOrder(tx, orderId))) return 'busy';
    // An earlier attempt's success is none of the attempt that stands in the row.
    const ofCurrent = told === row.attempt ? answer.providerRefundId : null;
    await this.#write(tx, refundId, judgement.to, answer, ofCurrent);
    const kind = movementOf(facts, answer, judgement);
    if (kind) await recordMovements(tx, [{ ...money, kind }]);
    if (judgement.to === 'succeeded' && row.attempt > 1) {
      await hearOtherAttemptsAgain(tx, this.timeouts, { orderId, refundId, ref });
    }
    if (judgement.to === 'canceled') {
      const reason = 'not_owed';
      await recordMovements(tx, [{ ...money, kind: 'refund_canceled', ref: refundId, reason }]);
      // Another refund of the payment was cut while this one had gone back twice: what it was cut by is owed again.
      await this.foreign.settle(tx, [orderId]);
    }
    if (judgement.to === 'failed') await this.#tryAnew(tx, refundId, told);
    const { alert } = judgement;
    if (alert !== undefined) {
      const why = answer.state === 'FAILED' ? answer.why : answer.state;
      tx.afterCommit(() => this.telemetry.alert(alert, { refundId, attempt, why }));
    }
    return true;
  }

  /** Of an attempt that nothing goes by any more, so that its success is an old story when it is told of later. */
  async #noteFailure(
    tx: Transaction,
    { state, providerRefundId }: SettledAnswer,
    money: Omit<Movement, 'kind'>,
  ): Promise<void> {
    if (state !== 'FAILED' || !providerRefundId) return;
    if (await isRecordedAsFailed(tx, money.paymentId, providerRefundId)) return;
    await recordMovements(tx, [{ ...money, kind: 'refund_failed' }]);
  }

  async #write(
    tx: Transaction,
    refundId: string,
    to: Exclude<RefundJudgement['to'], 'unchanged'>,
    answer: SettledAnswer,
    providerRefundId: string | null,
  ): Promise<void> {
    const why = answer.state === 'FAILED' ? answer.why : null;
    await tx.rows(
      `UPDATE refunds
          SET status = $2, provider_refund_id = coalesce($3, provider_refund_id), error = $4,
              updated_at = now(), finished_at = CASE WHEN $2 IN ('succeeded', 'canceled') THEN now() END
        WHERE id = $1`,
      [refundId, to, providerRefundId || null, why],
    );
  }

  /** Its deadline turns the failed refund into a request with the next attempt's number. */
  async #tryAnew(tx: Transaction, refundId: string, attempt: number): Promise<void> {
    const [row] = await tx.rows<{ due_at: Date }>(
      `SELECT now() + $1 * interval '1 millisecond' AS due_at`,
      [pauseAfterFailureMs(attempt)],
    );
    const dueAt = (row as { due_at: Date }).due_at;
    await this.timeouts.arm(tx, [
      { kind: 'refund', subjectId: refundId, dueAt, version: attempt + 1 },
    ]);
  }
}

/** False where somebody has it. The refund's row is ours already, so nobody is waited for who may want that. */
async function lockOrder(tx: Transaction, orderId: string): Promise<boolean> {
  const sql = 'SELECT FROM orders WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED';
  return (await tx.rows(sql, [orderId])).length > 0;
}

/**
 * What an answer moved. A success that contradicts a later attempt moves nothing here: whether it
 * did at the provider is what the operator has to look at.
 */
function movementOf(
  facts: RefundFacts,
  answer: SettledAnswer,
  { to }: RefundJudgement,
): MovementKind | undefined {
  if (to === 'succeeded') return 'refund_succeeded';
  if (answer.state === 'FAILED') {
    return facts.status === 'succeeded' ? 'refund_reversed' : 'refund_failed';
  }
  return undefined;
}
