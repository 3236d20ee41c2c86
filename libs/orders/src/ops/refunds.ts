import { queryRows, TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { isRecordedAsFailed } from '../money/movements';
import { refundKey } from '../providers/refund-key';
import { LastcallError } from '../order/errors';
import { idOf } from '../order/given-id';
import type { RefundReason, RefundStatus } from '../order/order';
import { type ActionRun, recordAction } from '../order/operator-action';
import { type Page, pageOf } from '../order/page';
import { rehearse } from '../order/rehearse';

export interface RefundEntry {
  readonly id: string;
  readonly orderId: string;
  readonly paymentId: string;
  readonly status: RefundStatus;
  readonly reason: RefundReason;
  readonly amount: number;
  readonly currency: string;
  readonly attempt: number;
  readonly error: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly finishedAt: string | null;
}

export const REFUND_ENTRY = `r.id, p.order_id AS "orderId", r.payment_id AS "paymentId", r.status, r.reason,
  r.amount::float8 AS amount, r.currency, r.attempt, r.error, r.created_at AS "createdAt",
  r.updated_at AS "updatedAt", r.finished_at AS "finishedAt"`;

/** A page of refunds, newest first. */
@Injectable()
export class ListRefunds {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  async list(filter: {
    readonly status?: RefundStatus | undefined;
    /** True: everything that is not `succeeded`. */
    readonly unsettled?: boolean | undefined;
    readonly limit: number;
    readonly cursor?: string | undefined;
  }): Promise<Page<RefundEntry>> {
    const rows = await queryRows<RefundEntry>(
      this.dataSource,
      `SELECT ${REFUND_ENTRY} FROM refunds r JOIN payments p ON p.id = r.payment_id
        WHERE ($1::text IS NULL OR r.status = $1) AND (NOT $2 OR r.status NOT IN ('succeeded', 'canceled'))
          AND ($3::uuid IS NULL OR r.id < $3)
        ORDER BY r.id DESC LIMIT $4`,
      [filter.status ?? null, filter.unsettled ?? false, filter.cursor ?? null, filter.limit + 1],
    );
    return pageOf(rows, filter.limit);
  }
}

/**
 * An operator lets a refund that was given up be tried again, with a key of its own. An attempt that was
 * sent and has not failed is not over: that one is gone on with, by its key, and none is sent beside it.
 */
@Injectable()
export class RetryRefund {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
  ) {}

  /** @throws {LastcallError} refund_not_found, refund_not_retryable */
  async retry(
    refundId: string,
    { dryRun = false, ...accountable }: ActionRun,
  ): Promise<RefundEntry> {
    const id = idOf(refundId, () => refundNotFound(refundId));
    return rehearse(dryRun, this.dataSource, async (tx) => {
      const [refund] = await tx.rows<LastAttempt>(
        `SELECT status, attempt, payment_id AS "paymentId", asked_at AS "askedAt",
                provider_refund_id AS "providerRefundId"
           FROM refunds WHERE id = $1 FOR NO KEY UPDATE`,
        [id],
      );
      if (!refund) throw refundNotFound(id);
      if (refund.status !== 'needs_attention') {
        const message = `Refund ${id} is ${refund.status}: ${WHY_NOT[refund.status]}`;
        throw new LastcallError('refund_not_retryable', message, { status: refund.status });
      }
      const how = (await isUnresolved(tx, id, refund)) ? ASKED_AFTER : SENT_ANEW;
      const [entry] = await tx.rows<RefundEntry & { now: Date }>(
        `UPDATE refunds r SET ${how}, updated_at = now()
         FROM payments p
        WHERE r.id = $1 AND r.status = 'needs_attention' AND p.id = r.payment_id
       RETURNING ${REFUND_ENTRY}, now() AS now`,
        [id],
      );
      const { now, ...view } = entry as RefundEntry & { now: Date };
      await this.timeouts.arm(tx, [
        { kind: 'refund', subjectId: id, dueAt: now, version: view.attempt },
      ]);
      await recordAction(tx, 'refund.retry', 'refund', [id], accountable);
      return view;
    });
  }
}

interface LastAttempt {
  readonly status: RefundStatus;
  readonly attempt: number;
  readonly paymentId: string;
  readonly askedAt: Date | null;
  readonly providerRefundId: string | null;
}

const SENT_ANEW = `status = 'requested', attempt = r.attempt + 1, provider_refund_id = NULL,
                asked_at = NULL`;
const ASKED_AFTER = `status = CASE WHEN r.provider_refund_id IS NULL THEN 'requested' ELSE 'pending' END`;

/** The provider may have it, and has not said that it failed: sent anew, the money could go back twice. */
async function isUnresolved(
  tx: Transaction,
  refundId: string,
  { attempt, paymentId, askedAt, providerRefundId }: LastAttempt,
): Promise<boolean> {
  const ref = providerRefundId ?? refundKey(refundId, attempt);
  return askedAt !== null && !(await isRecordedAsFailed(tx, paymentId, ref));
}

const WHY_NOT: Readonly<Record<Exclude<RefundStatus, 'needs_attention'>, string>> = {
  requested: 'it is about to be sent',
  pending: 'the provider has it and has not decided',
  failed: 'it is tried again by itself',
  succeeded: 'the money has gone back',
  canceled: 'it is owed no longer',
};

export const refundNotFound = (refundId: string): LastcallError =>
  new LastcallError('refund_not_found', `There is no refund ${refundId}`);
