import { Inject, Injectable } from '@nestjs/common';
import { type Settings, SETTINGS } from '../config';
import { CancelPaid } from './cancel-paid';
import { CloseOrder } from './close-order';
import { LastcallError, orderNotFound } from '../order/errors';
import type { OrderView } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import { readOrder } from '../order/order-rows';
import type { OrderStatus } from '../order/order.lifecycle';
import { ReadOrder } from './read-order';
import { SettleClosing } from './settle-closing';

/** What an order is that somebody has canceled; `closing`: its provider still has to answer. */
const CANCELED: ReadonlySet<OrderStatus> = new Set(['closing', 'closed', 'canceled'] as const);

/** A customer closes their unpaid order; under CANCEL_PAID also cancels one that is not shipped. */
@Injectable()
export class CancelOrder {
  constructor(
    private readonly guard: OrderGuard,
    private readonly closing: CloseOrder,
    private readonly settling: SettleClosing,
    private readonly reading: ReadOrder,
    private readonly paid: CancelPaid,
    @Inject(SETTINGS) private readonly config: Settings,
  ) {}

  /**
   * The order afterwards: `closed`, or `closing` while the provider still has to answer; `canceled`
   * when it was paid, and its money goes back.
   * @throws {LastcallError} order_not_found; order_not_cancelable, also where the provider says that
   * it is paid and it may not be canceled then; busy
   */
  async cancel(orderId: string, customerId: string): Promise<OrderView> {
    const begun = await this.#begin(orderId, customerId);
    if (begun.status !== 'closing') return begun;
    await this.settling.settleSoon(orderId);
    const order = await this.reading.readAnew(begun);
    if (CANCELED.has(order.status)) return order;
    // A payment that was under way has won: as if asked only now, of a paid order.
    return this.cancel(orderId, customerId);
  }

  #begin(orderId: string, customerId: string): Promise<OrderView> {
    return this.guard.withOrder(orderId, async (order, tx) => {
      if (order.customerId !== customerId) throw orderNotFound();
      if (order.status === 'paid' && this.config.CANCEL_PAID === 'until_shipped') {
        await this.paid.cancel(order, tx, { by: 'customer', actor: customerId });
        return readOrder(tx, order.id);
      }
      const done = await this.closing.closeIfPending(order, tx, {
        by: 'customer',
        actor: customerId,
        closeReason: 'customer_canceled',
      });
      if (done !== 'not_pending') return readOrder(tx, order.id);
      const { status } = order;
      const message = `This order is ${status}; only ${this.#cancelable} can be canceled`;
      throw new LastcallError('order_not_cancelable', message, { status });
    });
  }

  get #cancelable(): string {
    return this.config.CANCEL_PAID === 'until_shipped'
      ? 'an order that is unpaid, or paid and not shipped,'
      : 'an unpaid order';
  }
}
