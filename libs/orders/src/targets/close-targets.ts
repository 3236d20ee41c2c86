import type { HostTransaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { isPlainText, PLAIN_TEXT_RULE } from '../order/plain-text';
import { LastcallError } from '../order/errors';
import type { WebhookHeaders } from '../payments/read-notice';
import { TargetClosing } from './target-closing';
import { armIn, REFUND_KIND, TARGET_PARTS, type TargetParts, targetOf } from './target-parts';
import type { HeldMoney, HeldRef } from './target-payments';
import { TargetWebhooks } from './target-webhooks';

/** An order of the shop's own; `kind` is its `@CloseTarget`'s. */
export interface TargetOrderRef {
  readonly kind: string;
  readonly orderId: string;
}

const MOST_LISTED = 1_000;

/**
 * Orders of a shop's own tables, as lastcall closes them. Deadlines are armed by `Timeouts`; this is for
 * whoever does not wait for them, for webhooks, and for operators.
 */
@Injectable()
export class CloseTargets {
  constructor(
    @Inject(TARGET_PARTS) private readonly parts: TargetParts,
    private readonly closing: TargetClosing,
    private readonly webhooks: TargetWebhooks,
  ) {}

  /**
   * Closes an order now: it was canceled, or found overdue by somebody who looked at it. `closing`: its
   * payment is ended at the provider first, within moments where that answers. `busy`: somebody is
   * changing its row. `moved_on`: it does not wait for payment any more.
   * @throws {TypeError} for a kind that is no target's
   */
  close(
    { kind, orderId }: TargetOrderRef,
    reason: string,
  ): Promise<'closed' | 'closing' | 'busy' | 'moved_on'> {
    return this.parts.runtime.inHostTransaction(async (tx) => {
      const { closed, fenced, busy } = await this.closing.closeOrFence(tx, kind, [orderId], reason);
      if (closed.length > 0) return 'closed';
      if (fenced.length > 0) return 'closing';
      return busy.length > 0 ? 'busy' : 'moved_on';
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
   * @throws {LastcallError} unknown_provider, bad_signature, stale_timestamp, invalid_request, busy
   */
  receive(provider: string, rawBody: Buffer, headers: WebhookHeaders): Promise<void> {
    return this.webhooks.receive(provider, rawBody, headers);
  }

  /** Money that waits for an operator, the oldest first; at most a thousand. */
  listHeld(): Promise<HeldMoney[]> {
    return this.parts.runtime.inHostTransaction((tx) =>
      this.parts.payments.listHeld(tx, MOST_LISTED),
    );
  }

  /**
   * An operator's word about money on hold: `refund` sends all of it back, `keep` leaves it where it is
   * (the order was given by hand, or it has paid the order that it was taken for).
   * @throws {LastcallError} payment_not_found; invalid_request for an actor or a reason that is no text
   */
  settleHeld(
    held: HeldRef,
    verdict: 'refund' | 'keep',
    by: { readonly actor: string; readonly reason: string },
  ): Promise<void> {
    for (const [name, text] of Object.entries(by)) {
      if (!text || !isPlainText(text)) {
        throw new LastcallError('invalid_request', `${name}: ${PLAIN_TEXT_RULE}`);
      }
    }
    return this.parts.runtime.inHostTransaction(async (tx) => {
      const found = await this.parts.payments.settleHeld(tx, held, verdict, by);
      if (!found)
        throw new LastcallError('payment_not_found', 'No money of this payment is on hold');
      if (verdict === 'keep') return;
      const { kind, orderId, money } = found;
      const { amount, currency } = money;
      const ref = { ...held, amount, currency, expiresAt: money.paidAt };
      const capture = {
        payment: { ...ref, orderId },
        providerPaymentId: held.providerPaymentId,
        money,
        reason: 'operator',
      };
      const refunds = await this.parts.payments.requestRefunds(tx, kind, [capture]);
      const delays = refunds.map((subjectId) => ({ subjectId, inMs: 0 }));
      await armIn(this.parts, tx, REFUND_KIND, delays);
    });
  }
}
