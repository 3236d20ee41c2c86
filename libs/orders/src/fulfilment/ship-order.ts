import type { Transaction } from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { LastcallError } from '../order/errors';
import type { OrderView, Shipment } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import { readOrder } from '../order/order-rows';
import { readBalances } from '../money/balance';
import { judgeShipping, type ShippingObstacle } from '../money/balance.judgement';

/** The merchant has shipped a paid order; from then on it waits for its receipt. */
@Injectable()
export class ShipOrder {
  constructor(private readonly guard: OrderGuard) {}

  /**
   * Goods leave the house for money that is there: not while it is disputed or on hold, and not
   * once it has gone back. `shipment` is for the customer to see.
   * @throws {LastcallError} order_not_found, order_not_shippable, busy
   */
  async ship(orderId: string, actor: string, shipment?: Partial<Shipment>): Promise<OrderView> {
    return this.guard.withOrder(orderId, async (order, tx) => {
      const change = { orderIds: [orderId], by: 'merchant', actor } as const;
      if (order.status === 'paid') await assertMoneyIsThere(tx, order.id);
      const shipped = await this.guard.change(tx, { from: 'paid', to: 'shipped', ...change });
      if (shipped.length === 0) {
        throw new LastcallError(
          'order_not_shippable',
          `This order is ${order.status}; only a paid order can be shipped`,
          { status: order.status },
        );
      }
      await noteShipment(tx, order.id, shipment);
      return readOrder(tx, order.id);
    });
  }
}

async function noteShipment(
  tx: Transaction,
  orderId: string,
  { carrier = null, trackingNumber = null }: Partial<Shipment> = {},
): Promise<void> {
  if (carrier === null && trackingNumber === null) return;
  await tx.rows('UPDATE orders SET carrier = $2, tracking_number = $3 WHERE id = $1', [
    orderId,
    carrier,
    trackingNumber,
  ]);
}

async function assertMoneyIsThere(tx: Transaction, orderId: string): Promise<void> {
  const [order] = await tx.rows<{ amount: string; currency: string }>(
    'SELECT amount, currency FROM orders WHERE id = $1',
    [orderId],
  );
  const { amount, currency } = order as { amount: string; currency: string };
  const all = await readBalances(tx, [orderId]);
  const balances = all.filter((balance) => balance.currency === currency);
  const why = judgeShipping({ amount: Number(amount), balances });
  if (!why) return;
  throw new LastcallError('order_not_shippable', OBSTACLES[why], { status: 'paid', why });
}

const OBSTACLES: Readonly<Record<ShippingObstacle, string>> = {
  disputed: "The customer disputes this order's payment; it can be shipped once that is won",
  money_on_hold: "This order's money is on hold; it can be shipped once an operator has settled it",
  refunded: "This order's money has gone back; there is nothing to ship for",
};
