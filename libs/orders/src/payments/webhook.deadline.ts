import {
  type BatchResult,
  type DeadlineHandler,
  type DueDeadline,
  type Transaction,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { HandlesKind } from '../order/handles-kind';
import { ApplyNotices } from './apply-notices';
import { findReceived, settleWebhooks, takeReceived } from './webhook-inbox';

/** Stored webhooks that could not be applied when they came, or that an operator replays. */
@Injectable()
@HandlesKind('webhook')
export class WebhookDeadline implements DeadlineHandler {
  readonly maxBatch = 200;

  constructor(private readonly applying: ApplyNotices) {}

  lockKey(): undefined {
    return undefined;
  }

  async handle(due: readonly DueDeadline[], tx: Transaction): Promise<BatchResult> {
    const stored = await takeReceived(
      tx,
      due.map(({ subjectId }) => subjectId),
    );
    const taken = new Set(stored.map(({ webhookId }) => webhookId));
    const others = due.filter(({ subjectId }) => !taken.has(subjectId));
    const results = await this.applying.apply(tx, stored);
    await settleWebhooks(tx, stored, results);
    const busy = stored.filter((_, index) => results[index]?.status === 'received');
    const passedOver = await findReceived(
      tx,
      others.map(({ subjectId }) => subjectId),
    );
    const waiting = [...busy.map(({ webhookId }) => webhookId), ...passedOver];
    const putBack = await this.#later(tx, due, new Set(waiting));
    const changed = stored.length - busy.length;
    return { changed, lost: others.length - passedOver.length, putBack };
  }

  async #later(
    tx: Transaction,
    due: readonly DueDeadline[],
    waiting: ReadonlySet<string>,
  ): Promise<DueDeadline[]> {
    if (waiting.size === 0) return [];
    const [clock] = await tx.rows<{ again: Date }>(`SELECT now() + interval '1 second' AS again`);
    const { again: dueAt } = clock as { again: Date };
    return due.filter(({ subjectId }) => waiting.has(subjectId)).map((one) => ({ ...one, dueAt }));
  }
}
