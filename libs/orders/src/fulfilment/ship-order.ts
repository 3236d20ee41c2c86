import { Injectable } from '@nestjs/common';
import { LastcallError } from '../order/errors';
import type { OrderView } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import { ReadOrder } from '../closing/read-order';

/** The merchant has shipped a paid order; from then on it waits for its receipt. */
@Injectable()
export class ShipOrder {
  constructor(
    private readonly guard: OrderGuard,
    private readonly reading: ReadOrder,
  ) {}

  /** @throws {LastcallError} order_not_found, order_not_shippable, busy */
  async ship(orderId: string, actor: string): Promise<OrderView> {
    await this.guard.withOrder(orderId, async (order, tx) => {
      const change = { orderIds: [orderId], by: 'merchant', actor } as const;
      const shipped = await this.guard.change(tx, { from: 'paid', to: 'shipped', ...change });
      if (shipped.length > 0) return;
      throw new LastcallError(
        'order_not_shippable',
        `This order is ${order.status}; only a paid order can be shipped`,
        { status: order.status },
      );
    });
    return this.reading.read(orderId);
  }
}
