import { type HostTransaction, isContention } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { orRefusal } from '../order/database-refusal';
import type { WebhookHeaders } from '../payments/read-notice';
import { TargetClosing } from './target-closing';
import { TargetDesk, type TargetVerdict } from './target-desk';
import { TARGET_PARTS, type TargetParts, targetOf } from './target-parts';
import type { TargetExit, TargetWait } from './target-waits';
import { TargetWebhooks } from './target-webhooks';

/** Waited for a few times, by connections that webhooks need as well, however many close what needs one row. */
const CLOSE_LOCK_LIMIT = '50ms';

/** An order of the shop's own; `kind` is its `@CloseTarget`'s. */
export interface TargetOrderRef {
  readonly kind: string;
  readonly orderId: string;
}

/**
 * Orders of a shop's own tables, as lastcall closes them. Deadlines are armed by `Timeouts`; this is for
 * whoever does not wait for them, for webhooks, and for operators.
 */
@Injectable()
export class CloseTargets {
  readonly #desk: TargetDesk;

  constructor(
    @Inject(TARGET_PARTS) private readonly parts: TargetParts,
    private readonly closing: TargetClosing,
    private readonly webhooks: TargetWebhooks,
  ) {
    const { runtime, timeouts } = parts;
    this.#desk = new TargetDesk(runtime.schema, (tx, due) => timeouts.arm(tx, due));
  }

  /**
   * Closes an order now: it was canceled, or found overdue by somebody who looked at it. `closing`: its
   * payment is ended at the provider first, within moments where that answers. `busy`: somebody is
   * changing its row, or has another that its close needs. `moved_on`: it does not wait for payment any more.
   * @throws {TypeError} for a kind that is no target's
   * @throws what the target throws, and the database
   */
  close(
    { kind, orderId }: TargetOrderRef,
    reason: string,
  ): Promise<'closed' | 'closing' | 'busy' | 'moved_on'> {
    const closing = this.parts.runtime.inHostTransaction(async (tx) => {
      const { closed, fenced, busy } = await this.closing.closeOrFence(tx, kind, [orderId], reason);
      if (closed.length > 0) return 'closed';
      if (fenced.length > 0) return 'closing';
      return busy.length > 0 ? 'busy' : 'moved_on';
    }, CLOSE_LOCK_LIMIT);
    return closing.catch((error: unknown) => {
      if (isContention(error)) return 'busy';
      throw error;
    });
  }

  /**
   * True while the order is behind the fence: open no payment then. To be asked in the transaction that
   * has locked the order's row and is about to write a new payment.
   */
  isClosing(tx: HostTransaction, { kind, orderId }: TargetOrderRef): Promise<boolean> {
    targetOf(this.parts, kind);
    return this.parts.orders.isClosing(tx, kind, orderId);
  }

  /**
   * Takes a provider's webhook, as it came: the raw bytes. Resolves when it is stored: answer 2xx then,
   * and only then. What it says is applied in moments, by a process that rings.
   * @throws {LastcallError} unknown_provider, bad_signature, stale_timestamp, invalid_request; busy and unavailable
   *   (`ERROR_STATUS`: 503) where it has to be sent again: the database's own error, if any, is the `cause`
   * @throws what the provider's own code throws beside them
   */
  receive(provider: string, rawBody: Buffer, headers: WebhookHeaders): Promise<void> {
    return this.webhooks.receive(provider, rawBody, headers);
  }

  /**
   * What waits for a person, or may come to, the oldest first: orders whose provider never answers, refunds
   * that cannot be made, webhooks and money on hold, deadlines whose handler keeps failing. At most 200 of
   * each, of which those that have waited for too long are left out last.
   * @throws {LastcallError} unavailable
   */
  waiting(): Promise<TargetWait[]> {
    return orRefusal(this.parts.runtime.inHostTransaction((tx) => this.#desk.list(tx)));
  }

  /**
   * Ends a wait by somebody's word, which is written down with it. What changes an order or asks a
   * provider is done in moments, by a process that rings.
   * @param id a {@link TargetWait}'s
   * @throws {LastcallError} not_found where nothing of this id waits (any more); invalid_request for an
   *   exit that this wait does not have (yet), and for an actor or a reason that is no text; busy, unavailable
   */
  settle(id: string, exit: TargetExit, given: TargetVerdict): Promise<TargetWait> {
    return orRefusal(
      this.parts.runtime.inHostTransaction((tx) => this.#desk.settle(tx, id, exit, given)),
    );
  }
}
