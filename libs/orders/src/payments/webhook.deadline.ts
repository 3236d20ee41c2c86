import {
  type BatchResult,
  type DeadlineHandler,
  type DueDeadline,
  type Transaction,
} from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { HandlesKind } from '../order/handles-kind';
import { ApplyNotices } from './apply-notices';
import { takeReceived } from './webhook-inbox';

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
    await this.applying.apply(tx, stored);
    return { changed: stored.length, lost: due.length - stored.length };
  }
}
