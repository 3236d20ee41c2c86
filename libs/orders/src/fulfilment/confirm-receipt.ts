import { Injectable } from '@nestjs/common';
import { LastcallError, orderNotFound } from '../order/errors';
import type { OrderView } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import { readOrder } from '../order/order-rows';

/** The customer has received a shipped order, which completes it. */
@Injectable()
export class ConfirmReceipt {
  constructor(private readonly guard: OrderGuard) {}

  /** @throws {LastcallError} order_not_found, order_not_receivable, busy */
  async confirm(orderId: string, customerId: string): Promise<OrderView> {
    return this.guard.withOrder(orderId, async (order, tx) => {
      if (order.customerId !== customerId) throw orderNotFound();
      const change = { orderIds: [orderId], by: 'customer', actor: customerId } as const;
      const done = await this.guard.change(tx, { from: 'shipped', to: 'completed', ...change });
      if (done.length > 0) return readOrder(tx, order.id);
      throw new LastcallError(
        'order_not_receivable',
        `This order is ${order.status}; only a shipped order can be received`,
        { status: order.status },
      );
    });
  }
}
