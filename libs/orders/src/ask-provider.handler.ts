import {
  type BatchResult,
  type DeadlineHandler,
  type DueDeadline,
  HandlesDeadline,
  TimeoutService,
  type Transaction,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { armNextAttempts, eachLimited } from './attempts';
import { SettleClosing } from './settle-closing';

/** Providers are asked about so many orders at once. */
const CONCURRENCY = 10;

/**
 * The careful lane: asks the provider about orders behind the fence. The next attempt is armed in
 * the claiming transaction, so that a crash while asking only repeats the question.
 */
@Injectable()
@HandlesDeadline('closing')
export class AskProviderHandler implements DeadlineHandler {
  readonly maxBatch = 100;

  constructor(
    private readonly timeouts: TimeoutService,
    private readonly settling: SettleClosing,
  ) {}

  /** None: the guard locks each order when its answer is applied, not while the provider thinks. */
  lockKey(): undefined {
    return undefined;
  }

  async handle(due: readonly DueDeadline[], tx: Transaction): Promise<BatchResult> {
    const rows = await tx.rows<{ id: string }>(
      `SELECT id FROM orders WHERE id = ANY ($1::uuid[]) AND status = 'closing'`,
      [due.map(({ subjectId }) => subjectId)],
    );
    const closing = new Set(rows.map((row) => row.id));
    await armNextAttempts(
      tx,
      this.timeouts,
      due.filter(({ subjectId }) => closing.has(subjectId)),
    );
    return { changed: closing.size, lost: due.length - closing.size };
  }

  async afterCommit(due: readonly DueDeadline[]): Promise<void> {
    const orderIds = [...new Set(due.map(({ subjectId }) => subjectId))];
    await eachLimited(orderIds, CONCURRENCY, async (orderId) => {
      await this.settling.settle(orderId);
    });
  }
}
