import {
  type BatchResult,
  type DeadlineHandler,
  type DueDeadline,
  HandlesDeadline,
  inTransaction,
  queryRows,
  TimeoutService,
  type Transaction,
} from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { armNextAttempts, eachLimited } from './attempts';
import { PAYMENT_PROVIDER, type PaymentProvider } from './providers/payment-provider';
import { refundKey, SettleRefunds } from './settle-refunds';

const CONCURRENCY = 10;

interface RefundRow {
  id: string;
  attempt: number;
  status: 'requested' | 'pending';
  amount: string;
  currency: string;
  provider_refund_id: string | null;
  provider_payment_id: string;
}

/**
 * Sends refunds to the provider and asks after those under way until they are final. The call
 * carries the refund's own key, so that a crash at any point repeats it safely.
 */
@Injectable()
@HandlesDeadline('refund')
export class RunRefundsHandler implements DeadlineHandler {
  readonly maxBatch = 200;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
    private readonly settling: SettleRefunds,
    @Inject(PAYMENT_PROVIDER) private readonly provider: PaymentProvider,
  ) {}

  lockKey(): undefined {
    return undefined;
  }

  async handle(due: readonly DueDeadline[], tx: Transaction): Promise<BatchResult> {
    const ids = due.map(({ subjectId }) => subjectId);
    // A failed attempt is over for good: the next one has a key of its own.
    const rows = await tx.rows<{ id: string }>(
      `WITH renewed AS (
         UPDATE refunds SET status = 'requested', attempt = attempt + 1, provider_refund_id = NULL,
                updated_at = now()
          WHERE id = ANY ($1::uuid[]) AND status = 'failed' RETURNING id
       )
       SELECT id FROM renewed
       UNION ALL
       SELECT id FROM refunds WHERE id = ANY ($1::uuid[]) AND status IN ('requested', 'pending')`,
      [ids],
    );
    const live = new Set(rows.map((row) => row.id));
    await armNextAttempts(
      tx,
      this.timeouts,
      due.filter(({ subjectId }) => live.has(subjectId)),
    );
    return { changed: live.size, lost: due.length - live.size };
  }

  async afterCommit(due: readonly DueDeadline[]): Promise<void> {
    const rows = await queryRows<RefundRow>(
      this.dataSource,
      `SELECT r.id, r.attempt, r.status, r.amount, r.currency, r.provider_refund_id,
              p.provider_payment_id
         FROM refunds r JOIN payments p ON p.id = r.payment_id
        WHERE r.id = ANY ($1::uuid[]) AND r.status IN ('requested', 'pending')`,
      [due.map(({ subjectId }) => subjectId)],
    );
    await eachLimited(rows, CONCURRENCY, (row) => this.#advance(row));
  }

  async #advance(row: RefundRow): Promise<void> {
    const answer =
      row.status === 'pending' && row.provider_refund_id
        ? await this.provider.findRefund(row.provider_refund_id)
        : await this.provider.refund({
            providerPaymentId: row.provider_payment_id,
            amount: Number(row.amount),
            currency: row.currency,
            idempotencyKey: refundKey(row.id, row.attempt),
          });
    // No answer is no answer: the deadline that is armed already asks again with the same key.
    if (answer.state === 'UNKNOWN') return;
    await inTransaction(this.dataSource, (tx) =>
      this.settling.settle(tx, row.id, row.attempt, answer),
    );
  }
}
