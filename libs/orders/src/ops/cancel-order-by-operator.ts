import { Injectable } from '@nestjs/common';
import { CancelPaid } from '../closing/cancel-paid';
import { ReadOrder } from '../closing/read-order';
import { LastcallError } from '../order/errors';
import type { OrderView } from '../order/order';
import type { Accountable } from '../order/operator-action';
import { OrderGuard } from '../order/order-guard';
import { readOrder } from '../order/order-rows';

export interface CanceledOrder {
  readonly order: OrderView;
  /** The refunds that were requested; in a dry run those that would be. */
  readonly refundIds: readonly string[];
}

/** An operator cancels a paid order that has not been shipped: stock and money go back. */
@Injectable()
export class CancelOrderByOperator {
  constructor(
    private readonly guard: OrderGuard,
    private readonly canceling: CancelPaid,
    private readonly reading: ReadOrder,
  ) {}

  /** @throws {LastcallError} order_not_found, order_not_cancelable, busy */
  async cancel(
    orderId: string,
    { dryRun = false, ...accountable }: Accountable & { readonly dryRun?: boolean },
  ): Promise<CanceledOrder> {
    const canceled = await this.guard.withOrder(
      orderId,
      async (order, tx) => {
        if (order.status !== 'paid') throw notPaid(orderId, order.status);
        const command = { by: 'operator', ...accountable } as const;
        const refundIds = await this.canceling.cancel(order, tx, command);
        return { order: await readOrder(tx, order.id), refundIds };
      },
      { dryRun },
    );
    if (!dryRun) return canceled;
    return { ...canceled, order: await this.reading.readOfAnyCustomer(orderId) };
  }
}

function notPaid(orderId: string, status: string): LastcallError {
  const isUnpaid = status === 'pending_payment';
  const hint = isUnpaid ? '; an unpaid order is closed by force-close' : '';
  return new LastcallError(
    'order_not_cancelable',
    `Order ${orderId} is ${status}; only a paid order that is not shipped can be canceled${hint}`,
    { orderId, status },
  );
}
