import {
  armNextAttempts,
  AttemptQueue,
  type BatchResult,
  type DeadlineHandler,
  type DueDeadline,
  type FollowUpJudge,
  failpoint,
  TimeoutService,
  type Transaction,
} from '@app/timeout';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { HandlesKind } from '../order/handles-kind';
import { HAS_OPEN_PAYMENT } from '../order/open-payment';
import { isBusy } from '../order/errors';
import { ALERT_AT_ATTEMPT, ASKED_AT_ONCE } from './asking';
import { SettleClosing } from './settle-closing';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/**
 * The careful lane: asks the provider about orders behind the fence, and ends payments that were
 * left open when another one paid their order. The next attempt is armed in the claiming
 * transaction, so that a crash while asking only repeats the question.
 */
@Injectable()
@HandlesKind('closing')
export class ClosingDeadline implements DeadlineHandler, OnModuleDestroy {
  readonly maxBatch = 100;
  readonly #queue: AttemptQueue;

  constructor(
    private readonly timeouts: TimeoutService,
    private readonly settling: SettleClosing,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {
    this.#queue = new AttemptQueue(
      ASKED_AT_ONCE,
      (orderId) => this.settling.settle(orderId),
      (error) => this.telemetry.failed('settle closing', error),
      isBusy,
    );
  }

  /** None: the guard locks each order when its answer is applied, not while the provider thinks. */
  lockKey(): undefined {
    return undefined;
  }

  async handle(due: readonly DueDeadline[], tx: Transaction): Promise<BatchResult> {
    // The first deadline of `closing` carries the order's version of that moment, that of a paid one's other payment 1.
    const rows = await tx.rows<{ id: string; first: number }>(
      `SELECT id, coalesce((SELECT max(e.version) FROM order_events e
                             WHERE e.order_id = o.id AND e.to_status = 'closing'), 1) AS first
         FROM orders o
        WHERE id = ANY ($1::uuid[])
          AND (status = 'closing' OR status <> 'pending_payment' AND ${HAS_OPEN_PAYMENT})`,
      [due.map(({ subjectId }) => subjectId)],
    );
    const unsettled = new Map(rows.map((row) => [row.id, row]));
    const attempts = due.flatMap((one) => {
      const order = unsettled.get(one.subjectId);
      if (!order) return [];
      return [{ due: one, attempt: Math.max(1, one.version - order.first + 1) }];
    });
    await armNextAttempts(tx, this.timeouts, attempts);
    for (const { due: one, attempt } of attempts) {
      if (attempt !== ALERT_AT_ATTEMPT) continue;
      tx.afterCommit(() =>
        this.telemetry.alert('closing_takes_long', { orderId: one.subjectId, attempt }),
      );
    }
    return { changed: attempts.length, lost: due.length - attempts.length };
  }

  async afterCommit(due: readonly DueDeadline[], judge: FollowUpJudge): Promise<void> {
    await failpoint('closing.claimed');
    const orderIds = due.map(({ subjectId }) => subjectId);
    await this.#queue.run(orderIds, judge);
  }

  onModuleDestroy(): void {
    this.#queue.stop();
  }
}
