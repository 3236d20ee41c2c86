import { inTransaction, queryRows, TimeoutService } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { LastcallError } from '../order/errors';
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

const ENTRY = `r.id, p.order_id AS "orderId", r.payment_id AS "paymentId", r.status, r.reason,
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
      `SELECT ${ENTRY} FROM refunds r JOIN payments p ON p.id = r.payment_id
        WHERE ($1::text IS NULL OR r.status = $1) AND (NOT $2 OR r.status NOT IN ('succeeded', 'canceled'))
          AND ($3::uuid IS NULL OR r.id < $3)
        ORDER BY r.id DESC LIMIT $4`,
      [filter.status ?? null, filter.unsettled ?? false, filter.cursor ?? null, filter.limit + 1],
    );
    return pageOf(rows, filter.limit);
  }
}

/** An operator lets a refund that was given up be tried again, with a key of its own. */
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
    return rehearse<RefundEntry>(dryRun, (end) =>
      inTransaction(this.dataSource, async (tx) => {
        const [refund] = await tx.rows<{ status: RefundStatus }>(
          'SELECT status FROM refunds WHERE id = $1 FOR NO KEY UPDATE',
          [refundId],
        );
        if (!refund) throw new LastcallError('refund_not_found', `There is no refund ${refundId}`);
        if (refund.status !== 'needs_attention') {
          const message = `Refund ${refundId} is ${refund.status}: ${WHY_NOT[refund.status]}`;
          throw new LastcallError('refund_not_retryable', message, { status: refund.status });
        }
        const [entry] = await tx.rows<RefundEntry & { now: Date }>(
          `UPDATE refunds r SET status = 'requested', attempt = r.attempt + 1,
                provider_refund_id = NULL, asked_at = NULL, updated_at = now()
           FROM payments p
          WHERE r.id = $1 AND r.status = 'needs_attention' AND p.id = r.payment_id
         RETURNING ${ENTRY}, now() AS now`,
          [refundId],
        );
        const { now, ...view } = entry as RefundEntry & { now: Date };
        await this.timeouts.arm(tx, [
          { kind: 'refund', subjectId: refundId, dueAt: now, version: view.attempt },
        ]);
        await recordAction(tx, 'refund.retry', 'refund', [refundId], accountable);
        return end(view);
      }),
    );
  }
}

const WHY_NOT: Readonly<Record<Exclude<RefundStatus, 'needs_attention'>, string>> = {
  requested: 'it is about to be sent',
  pending: 'the provider has it and has not decided',
  failed: 'it is tried again by itself',
  succeeded: 'the money has gone back',
  canceled: 'it is owed no longer',
};
