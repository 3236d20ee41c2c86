import { Injectable } from '@nestjs/common';
import { CloseOrder } from './close-order';
import { LastcallError } from '../order/errors';
import type { OrderView } from '../order/order';
import type { ActionRun } from '../order/operator-action';
import { OrderGuard } from '../order/order-guard';
import { readOrder } from '../order/order-rows';
import { ReadOrder } from './read-order';
import { SettleClosing } from './settle-closing';

/** An operator closes an unpaid order, with a reason. */
@Injectable()
export class ForceCloseOrder {
  constructor(
    private readonly guard: OrderGuard,
    private readonly closing: CloseOrder,
    private readonly settling: SettleClosing,
    private readonly reading: ReadOrder,
  ) {}

  /**
   * The order afterwards: `closed`, or `closing` while the provider still has to answer. In a dry run what
   * it would be before the provider is asked.
   * @throws {LastcallError} order_not_found; order_not_closable, as for a paid order, also where only
   * the provider knew that it is paid; busy
   */
  async forceClose(
    orderId: string,
    { actor, reason, dryRun = false }: ActionRun,
  ): Promise<OrderView> {
    const begun = await this.guard.withOrder(
      orderId,
      async (order, tx) => {
        const command = { by: 'operator', actor, reason, closeReason: 'operator_closed' } as const;
        const done = await this.closing.closeIfPending(order, tx, command);
        if (done !== 'not_pending') return readOrder(tx, order.id);
        throw new LastcallError(
          'order_not_closable',
          `Order ${orderId} is ${order.status}; only an unpaid order can be closed by force`,
          { orderId, status: order.status },
        );
      },
      { dryRun },
    );
    if (dryRun || begun.status !== 'closing') return begun;
    await this.settling.settleSoon(orderId);
    const order = await this.reading.readAnew(begun);
    if (order.status === 'closed' || order.status === 'closing') return order;
    // A payment that was under way has won: the provider said so after we had set the fence.
    throw new LastcallError(
      'order_not_closable',
      `Order ${orderId} was paid meanwhile and is now ${order.status}`,
      { orderId, status: order.status },
    );
  }
}
