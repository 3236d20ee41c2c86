import type { Tx } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { failpoint } from '@app/timeout';
import type { TargetPayment } from './close-target';
import { armIn, askingKind, TARGET_PARTS, type TargetParts, targetOf } from './target-parts';

export interface ClosedOrFenced {
  readonly closed: readonly string[];
  /** Behind the fence: their payments are ended at the provider first. */
  readonly fenced: readonly string[];
  /** Somebody is changing their rows at this moment. */
  readonly busy: readonly string[];
}

/**
 * The guard over a shop's own table: lock, check, update, in sets. Orders without a payment open at a
 * provider are closed at once; the others go behind the fence, and their provider is asked.
 */
@Injectable()
export class TargetClosing {
  constructor(@Inject(TARGET_PARTS) private readonly parts: TargetParts) {}

  async closeOrFence(
    tx: Tx,
    kind: string,
    orderIds: readonly string[],
    reason: string,
  ): Promise<ClosedOrFenced> {
    const target = targetOf(this.parts, kind);
    const open = await target.lockOpen(orderIds, tx);
    const locked = [...open].flatMap(([id, isLocked]) => (isLocked ? [id] : []));
    const busy = [...open].flatMap(([id, isLocked]) => (isLocked ? [] : [id]));
    // A statement after the locks: its snapshot is newer, so no payment slips between.
    const unpaid = new Set((await this.openPayments(tx, kind, locked)).map((one) => one.orderId));
    const free = locked.filter((id) => !unpaid.has(id));
    const fenced = locked.filter((id) => unpaid.has(id));
    await this.close(tx, kind, free, reason);
    await target.fence(fenced, tx);
    // Those behind it already keep their pauses: a page that is looked at each second asks no provider so often.
    const ours = await this.parts.orders.lock(tx, kind, fenced);
    const fresh = fenced.filter((id) => ours.get(id)?.status !== 'closing');
    await this.parts.orders.put(tx, kind, fresh, { status: 'closing', reason });
    const delays = fresh.map((subjectId) => ({ subjectId, inMs: 0 }));
    await armIn(this.parts, tx, askingKind(kind), delays);
    await failpoint('target.closed');
    return { closed: free, fenced, busy };
  }

  /**
   * Closes orders whose rows the caller has locked, and of which no payment is open: for this reason, or
   * for the one that has put them behind the fence.
   */
  async close(tx: Tx, kind: string, orderIds: readonly string[], reason: string): Promise<void> {
    const reasons = await this.parts.orders.put(tx, kind, orderIds, { status: 'closed', reason });
    for (const one of new Set(reasons.values())) {
      const ids = orderIds.filter((id) => reasons.get(id) === one);
      await targetOf(this.parts, kind).close(ids, one, tx);
    }
  }

  /** Payments that somebody could still make, as far as the shop and we know. */
  async openPayments(tx: Tx, kind: string, orderIds: readonly string[]): Promise<TargetPayment[]> {
    const payments = await targetOf(this.parts, kind).openPayments(orderIds, tx);
    return this.parts.payments.stillOpen(tx, kind, payments);
  }
}
