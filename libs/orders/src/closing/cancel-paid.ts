import { TimeoutService, type Transaction } from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { inDisputeOfOrder, readBalances } from '../money/balance';
import { refundAll } from '../money/refund-all';
import { LastcallError } from '../order/errors';
import { type GuardedOrder, OrderGuard } from '../order/order-guard';

export interface CancelPaidCommand {
  readonly by: 'customer' | 'operator';
  readonly actor: string;
  /** Required of operators. */
  readonly reason?: string | undefined;
}

/** Cancels one paid order inside the guard: its stock and its money go back, in one transaction. */
@Injectable()
export class CancelPaid {
  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
  ) {}

  /**
   * Answers with the refunds that were requested.
   * @throws {LastcallError} order_not_cancelable, also while the money is disputed or on hold
   */
  async cancel(
    order: Pick<GuardedOrder, 'id' | 'status'>,
    tx: Transaction,
    { by, actor, reason }: CancelPaidCommand,
  ): Promise<string[]> {
    const why = `${by}_canceled` as const;
    const orderIds = [order.id];
    await assertDecided(tx, order);
    const change = { from: 'paid', to: 'canceled', orderIds, closeReason: why } as const;
    const canceled = await this.guard.change(tx, { ...change, by, actor, reason });
    if (canceled.length === 0) throw notCancelable(order);
    return refundAll(tx, this.timeouts, orderIds, why, by);
  }
}

async function assertDecided(
  tx: Transaction,
  order: Pick<GuardedOrder, 'id' | 'status'>,
): Promise<void> {
  const balances = await readBalances(tx, [order.id]);
  const isDisputed = balances.some((one) => inDisputeOfOrder(one) > 0);
  if (!isDisputed && balances.every(({ held }) => held === 0)) return;
  const what = isDisputed ? 'disputed by the buyer' : 'on hold for an operator';
  throw new LastcallError(
    'order_not_cancelable',
    `This order's money is ${what}; it can be canceled once that is settled`,
    { status: order.status, why: isDisputed ? 'disputed' : 'money_on_hold' },
  );
}

function notCancelable({ status }: Pick<GuardedOrder, 'status'>): LastcallError {
  return new LastcallError(
    'order_not_cancelable',
    `This order is ${status}; it cannot be canceled any more`,
    { status },
  );
}
