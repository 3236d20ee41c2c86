import type { Transaction } from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { OrderGuard, type GuardedOrder } from '../order/order-guard';
import type { By, CloseReason } from '../order/order.lifecycle';

export interface CloseCommand {
  readonly by: By;
  readonly closeReason: CloseReason;
  readonly actor?: string | undefined;
  readonly reason?: string | undefined;
  /** True for timeouts: nothing closes before its deadline by the database's clock. */
  readonly onlyIfOverdue?: boolean;
}

/**
 * Closes one unpaid order inside the guard: at once when no payment is open at the provider, else
 * behind the fence `closing`, where the provider is asked first.
 */
@Injectable()
export class CloseOrder {
  constructor(private readonly guard: OrderGuard) {}

  /** `not_pending` when it has moved on already: somebody else won. */
  async closeIfPending(
    order: GuardedOrder,
    tx: Transaction,
    command: CloseCommand,
  ): Promise<'closed' | 'closing' | 'not_pending'> {
    const to = order.openPayments > 0 ? 'closing' : 'closed';
    const changed = await this.guard.change(tx, {
      from: 'pending_payment',
      to,
      orderIds: [order.id],
      ...command,
    });
    return changed.length > 0 ? to : 'not_pending';
  }
}
