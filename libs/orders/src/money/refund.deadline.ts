import {
  armNextAttempts,
  type Attempted,
  AttemptQueue,
  type BatchResult,
  type DeadlineHandler,
  type DueDeadline,
  failpoint,
  type FollowUpJudge,
  inTransaction,
  queryRows,
  TimeoutService,
  type Transaction,
} from '@app/timeout';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HandlesKind } from '../order/handles-kind';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { askRefund, REFUNDS_AT_ONCE, type RefundAttempt } from '../providers/ask-refund';
import type { RefundAnswer } from '../providers/payment-provider';
import { PaymentProviders } from '../providers/payment-providers';
import { isInDispute, OWES_TOO_MUCH } from './balance';
import { cancelUnowed } from './cancel-unowed';
import { isMadeBeside } from './find-refund';
import { ForeignMoney } from './foreign-money';
import {
  PAUSES_AFTER_FAILURE_MS,
  pauseAfterFailureMs,
  pauseWhilePendingMs,
} from './refund.judgement';
import { SettleRefunds } from './settle-refunds';
import { isBusy, LastcallError } from '../order/errors';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/**
 * While the buyer's bank has the money, sending it back would lose it twice: a refund that the
 * provider has not been asked for waits for the dispute's end. `r` is the refund.
 */
const IN_DISPUTE = isInDispute('r.payment_id');
/** Nor is it asked for what is owed no longer, where whoever was changing the order has kept that from being canceled. */
const OWED_NO_LONGER = `EXISTS (
  SELECT FROM payment_balances b
   WHERE b.payment_id = r.payment_id AND b.currency = r.currency AND ${OWES_TOO_MUCH} OFFSET 0)`;

/** In a CASE, so that no index of all that have it is read to find a few by their ids. */
const HAS_STATUS = (...statuses: readonly string[]): string =>
  `CASE WHEN status IN (${statuses.map((one) => `'${one}'`).join(', ')}) THEN true END`;

type LiveStatus = 'requested' | 'pending' | 'failed';

/**
 * Sends refunds to the provider and asks after those under way until they are final. The call
 * carries the refund's own key, so that a crash at any point repeats it safely.
 */
@Injectable()
@HandlesKind('refund')
export class RefundDeadline implements DeadlineHandler, OnModuleDestroy {
  readonly maxBatch = 200;
  readonly #queue: AttemptQueue;

  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
    private readonly settling: SettleRefunds,
    private readonly foreign: ForeignMoney,
    private readonly providers: PaymentProviders,
    @Inject(ORDERS_TELEMETRY) telemetry: OrdersTelemetry,
  ) {
    this.#queue = new AttemptQueue(
      REFUNDS_AT_ONCE,
      (refundId) => this.#advance(refundId),
      (error) => telemetry.failed('run refund', error),
      isBusy,
    );
  }

  lockKey(): undefined {
    return undefined;
  }

  async handle(due: readonly DueDeadline[], tx: Transaction): Promise<BatchResult> {
    const ids = due.map(({ subjectId }) => subjectId);
    await cancelUnowed(tx, this.timeouts, ids);
    // A failed attempt is over for good: the next one has a key of its own, and comes after a pause,
    // whatever deadline of the attempt that failed comes due before.
    const rows = await tx.rows<{ id: string; status: LiveStatus; attempt: number }>(
      `WITH renewed AS (
         UPDATE refunds SET status = 'requested', attempt = attempt + 1, provider_refund_id = NULL,
                asked_at = NULL, updated_at = now()
          WHERE id = ANY ($1::uuid[]) AND ${HAS_STATUS('failed')}
            AND date_trunc('milliseconds', updated_at) <= now() - interval '1 millisecond'
                * ($2::bigint[])[least(attempt, cardinality($2::bigint[]))]
         RETURNING id, status, attempt
       )
       SELECT id, status, attempt FROM renewed
       UNION ALL
       SELECT id, status, attempt FROM refunds
        WHERE id = ANY ($1::uuid[]) AND ${HAS_STATUS('requested', 'pending', 'failed')}
          AND NOT id = ANY (ARRAY(SELECT id FROM renewed))`,
      [ids, PAUSES_AFTER_FAILURE_MS],
    );
    const live = new Map(rows.map((row) => [row.id, row]));
    const inStatus = (...wanted: readonly LiveStatus[]) =>
      due.filter(({ subjectId }) => {
        const status = live.get(subjectId)?.status;
        return status !== undefined && wanted.includes(status);
      });
    const byVersion = (one: DueDeadline) => ({ due: one, attempt: one.version });
    await armNextAttempts(tx, this.timeouts, inStatus('requested').map(byVersion));
    const pending = inStatus('pending').map(byVersion);
    await armNextAttempts(tx, this.timeouts, pending, pauseWhilePendingMs);
    const paused = inStatus('failed').map((one) => {
      return { due: one, attempt: live.get(one.subjectId)?.attempt ?? 1 };
    });
    await armNextAttempts(tx, this.timeouts, paused, pauseAfterFailureMs);
    return { changed: live.size, lost: due.length - live.size };
  }

  async afterCommit(due: readonly DueDeadline[], judge: FollowUpJudge): Promise<void> {
    await failpoint('refund.claimed');
    const refundIds = due.map(({ subjectId }) => subjectId);
    await this.#queue.run(refundIds, judge);
  }

  onModuleDestroy(): void {
    this.#queue.stop();
  }

  async #advance(refundId: string): Promise<Attempted> {
    // Read when its turn comes: a webhook may have settled it meanwhile. From here on the provider
    // may have it, and this attempt has to be seen to its end.
    const [row] = await queryRows<RefundAttempt>(
      this.dataSource,
      `UPDATE refunds r SET asked_at = coalesce(r.asked_at, now()) FROM payments p
        WHERE p.id = r.payment_id AND r.id = $1
          AND CASE WHEN r.status IN ('requested', 'pending') THEN true END
          AND NOT (r.asked_at IS NULL AND (${IN_DISPUTE} OR ${OWED_NO_LONGER}))
       RETURNING r.id, r.attempt, r.status, r.amount, r.currency, r.provider_refund_id,
                 r.payment_id, p.provider, p.provider_payment_id`,
      [refundId],
    );
    if (!row) return 'nothing';
    const answer = await askRefund(this.providers, row);
    await failpoint('refund.answered');
    // No answer is no answer: the deadline that is armed already asks again with the same key.
    if (answer.state === 'UNKNOWN') {
      await this.#noteWhy(row, answer.why);
      return 'nothing';
    }
    await inTransaction(this.dataSource, async (tx) => {
      const isNews = await this.settling.settle(tx, row.id, row.attempt, answer, 'answer');
      if (isNews === 'busy') throw new LastcallError('busy', 'Somebody is changing its order');
      if (!isNews) await this.#bookBeside(tx, row, answer);
      await failpoint('refund.applied');
    });
    await failpoint('refund.settled');
    return 'succeeded';
  }

  /**
   * Somebody has ended the refund by another way while the provider made it: it went back twice. While the order is
   * being changed its webhook, or reconciling, books it.
   */
  async #bookBeside(tx: Transaction, row: RefundAttempt, answer: RefundAnswer): Promise<void> {
    if (answer.state !== 'SUCCEEDED') return;
    const { providerRefundId } = answer;
    const { id: refundId, payment_id: paymentId, provider_payment_id: providerPaymentId } = row;
    const target = { refundId, attempt: row.attempt };
    if (!(await isMadeBeside(tx, target, { providerRefundId, hasSucceeded: true }))) return;
    const of = { paymentId, providerPaymentId, providerId: providerRefundId };
    const money = { amount: Number(row.amount), besideRefundId: refundId };
    await this.foreign.record(tx, { what: 'refund.succeeded', ...of, ...money }, 'answer');
  }

  /** For whoever is woken up because it waits. Nothing goes by it, and the next answer takes its place. */
  async #noteWhy({ id, attempt }: RefundAttempt, why: string): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE refunds SET error = $3
        WHERE id = $1 AND attempt = $2 AND ${HAS_STATUS('requested', 'pending')}
          AND error IS DISTINCT FROM $3`,
      [id, attempt, why],
    );
  }
}
