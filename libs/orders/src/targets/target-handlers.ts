import { AttemptQueue, backoffMs, type Due, type Tx } from '@app/timeout';
import { HostDeadlineHandler, type HostTx } from '@app/timeout/module';
import {
  type BeforeApplicationShutdown,
  Inject,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { ALERT_AT_ATTEMPT, ASKED_AT_ONCE } from '../closing/asking';
import { isBusy } from '../order/errors';
import type { CloseTargetOptions } from './close-target';
import { TargetClosing } from './target-closing';
import { armIn, askingKind, BUSY_AGAIN_MS, TARGET_PARTS, type TargetParts } from './target-parts';
import { TargetSettling } from './target-settling';

const MAX_ASKED = 100;

/** The handlers of one target: of its own kind, and of asking providers about what is fenced. */
export function handlersOf({ kind, maxBatch }: CloseTargetOptions, timeouts?: string): Type[] {
  const name = timeouts === undefined ? {} : { timeouts };

  /** Closes overdue orders in sets, or puts them behind the fence. */
  @HostDeadlineHandler(kind, { ...name, ...(maxBatch === undefined ? {} : { maxBatch }) })
  class CloseOnTime {
    constructor(
      @Inject(TARGET_PARTS) private readonly parts: TargetParts,
      @Inject(TargetClosing) private readonly closing: TargetClosing,
    ) {}

    async handle(due: readonly Due[], tx: Tx): Promise<{ changed: number }> {
      const ids = due.map(({ subjectId }) => subjectId);
      const done = await this.closing.closeOrFence(tx, kind, ids, 'payment_timeout');
      const delays = done.busy.map((subjectId) => ({ subjectId, inMs: BUSY_AGAIN_MS }));
      await armIn(this.parts, tx, kind, delays);
      return { changed: done.closed.length + done.fenced.length };
    }
  }

  /** The next attempt is armed before this one is made: a crash only repeats the question. */
  @HostDeadlineHandler(askingKind(kind), { ...name, maxBatch: MAX_ASKED })
  class AskProviders implements OnModuleDestroy, BeforeApplicationShutdown {
    readonly #queue: AttemptQueue;

    constructor(
      @Inject(TARGET_PARTS) private readonly parts: TargetParts,
      @Inject(TargetSettling) settling: TargetSettling,
    ) {
      this.#queue = new AttemptQueue(
        ASKED_AT_ONCE,
        (orderId) => settling.settle(kind, orderId),
        (error) => parts.telemetry.failed(`settle ${kind}`, error),
        isBusy,
      );
    }

    async handle(due: readonly Due[], tx: HostTx): Promise<{ changed: number }> {
      const ids = due.map(({ subjectId }) => subjectId);
      const { asked, busy } = await this.parts.orders.beginAttempts(tx, kind, ids);
      const delays = [
        ...asked.map(({ orderId, attempt }) => ({ subjectId: orderId, inMs: backoffMs(attempt) })),
        ...busy.map((subjectId) => ({ subjectId, inMs: BUSY_AGAIN_MS })),
      ];
      await armIn(this.parts, tx, askingKind(kind), delays);
      for (const { orderId, attempt } of asked) {
        if (attempt !== ALERT_AT_ATTEMPT) continue;
        const fields = { kind, orderId, attempt };
        tx.afterCommit(() => this.parts.telemetry.alert('closing_takes_long', fields));
      }
      const orderIds = asked.map(({ orderId }) => orderId);
      tx.afterCommit(() => {
        void this.#queue.run(orderIds, tx.judge);
      });
      return { changed: asked.length };
    }

    onModuleDestroy(): void {
      this.#queue.stop();
    }

    /** What has been asked is applied: each answer takes bounded time. */
    beforeApplicationShutdown(): Promise<void> {
      return this.#queue.ended();
    }
  }

  return [CloseOnTime, AskProviders];
}
