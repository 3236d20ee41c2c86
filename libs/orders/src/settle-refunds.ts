import { TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { backoffMs } from './backoff';
import type { RefundStatus } from './order';
import type { RefundAnswer } from './providers/payment-provider';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from './telemetry';

/** A refund that failed is tried anew so often before an operator has to look at it. */
const MAX_REFUND_ATTEMPTS = 3;

/** The provider's idempotency key of an attempt: the refund's id, then the id with a number. */
export function refundKey(refundId: string, attempt: number): string {
  return attempt === 1 ? refundId : `${refundId}-${attempt}`;
}

/** Reads {@link refundKey} back; undefined when the key is none of ours. */
export function parseRefundKey(key: string): { refundId: string; attempt: number } | undefined {
  const match = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-(\d{1,4}))?$/.exec(key);
  if (!match) return undefined;
  return { refundId: match[1] as string, attempt: Number(match[2] ?? 1) };
}

/** Applies what the provider says of a refund, by answer or by webhook, in whatever order. */
@Injectable()
export class SettleRefunds {
  constructor(
    private readonly timeouts: TimeoutService,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** False when the answer was for an attempt that is over, or changes nothing. */
  async settle(
    tx: Transaction,
    refundId: string,
    attempt: number,
    answer: Exclude<RefundAnswer, { state: 'UNKNOWN' }>,
  ): Promise<boolean> {
    switch (answer.state) {
      case 'SUCCEEDED':
        // Success of whichever attempt: the money has gone back.
        return this.#update(tx, refundId, 'succeeded', answer.providerRefundId, null, [
          'requested',
          'pending',
          'failed',
          'needs_attention',
        ]);
      case 'PENDING':
        return this.#update(
          tx,
          refundId,
          'pending',
          answer.providerRefundId,
          null,
          ['requested'],
          attempt,
        );
      case 'FAILED':
        return this.#fail(tx, refundId, attempt, answer);
    }
  }

  async #fail(
    tx: Transaction,
    refundId: string,
    attempt: number,
    { providerRefundId, why }: Extract<RefundAnswer, { state: 'FAILED' }>,
  ): Promise<boolean> {
    const isLast = attempt >= MAX_REFUND_ATTEMPTS;
    const to = isLast ? 'needs_attention' : 'failed';
    const from: RefundStatus[] = ['requested', 'pending'];
    const changed = await this.#update(tx, refundId, to, providerRefundId, why, from, attempt);
    if (!changed) return false;
    if (isLast) {
      tx.afterCommit(() => this.telemetry.alarm('refund_needs_attention', { refundId, why }));
      return true;
    }
    const [row] = await tx.rows<{ due_at: Date }>(
      `SELECT now() + $1 * interval '1 millisecond' AS due_at`,
      [backoffMs(attempt)],
    );
    const dueAt = (row as { due_at: Date }).due_at;
    await this.timeouts.arm(tx, [
      { kind: 'refund', subjectId: refundId, dueAt, version: attempt + 1 },
    ]);
    return true;
  }

  async #update(
    tx: Transaction,
    refundId: string,
    to: RefundStatus,
    providerRefundId: string | null,
    error: string | null,
    from: readonly RefundStatus[],
    attempt?: number,
  ): Promise<boolean> {
    const rows = await tx.rows(
      `UPDATE refunds
          SET status = $2, provider_refund_id = coalesce($3, provider_refund_id), error = $4,
              updated_at = now(),
              finished_at = CASE WHEN $2 = 'succeeded' THEN now() END
        WHERE id = $1 AND status = ANY ($5::text[]) AND ($6::int IS NULL OR attempt = $6::int)
       RETURNING 1`,
      [refundId, to, providerRefundId, error, from, attempt ?? null],
    );
    return rows.length > 0;
  }
}
