import { isLockTimeout, type Transaction } from '@app/timeout';
import { readBalances, refundable } from '../money/balance';
import type { HoldReason } from '../money/capture.judgement';
import { lockStockOf, reserveAgain } from '../money/revive';
import { LastcallError } from '../order/errors';
import type { Accountable } from '../order/operator-action';
import type { OrderGuard } from '../order/order-guard';
import type { OrderStatus } from '../order/order.lifecycle';
import { toldLast } from './correct-capture';

/** A payment on hold, and its order. */
interface Recorded {
  readonly id: string;
  readonly orderId: string;
  readonly orderStatus: OrderStatus;
  readonly holdReason: HoldReason;
  readonly amount: number;
  readonly currency: string;
  readonly capturedAmount: number;
}

/**
 * Late money pays its order after all, which has its stock again. Answers with why it cannot be, if it cannot. The
 * caller has locked the order's row and the payment's, and rolls back where it cannot be.
 * @throws {LastcallError} busy
 */
export async function acceptLateMoney(
  tx: Transaction,
  guard: OrderGuard,
  { id, orderId, orderStatus, holdReason, ...payment }: Recorded,
  accountable: Accountable,
): Promise<string | undefined> {
  if (holdReason !== 'late_payment' || orderStatus !== 'closed') {
    return 'only money that came after its order was closed can be accepted';
  }
  if (payment.capturedAmount !== payment.amount) {
    return 'its order costs another amount: refund or keep it';
  }
  // Once the hold is over, what was told by then is settled, and nobody could correct it.
  const told = await toldLast(tx, id);
  if (told && (Number(told.amount) !== payment.amount || told.currency !== payment.currency)) {
    return `its provider tells of ${told.amount} ${told.currency} (minor units) since: correct it first`;
  }
  if ((await leftOf(tx, orderId, id)) === 0) {
    return 'nothing of it is left: it has gone back, or a dispute has taken it';
  }
  // Folding stock holds a product often, and briefly: no reason to send an operator away.
  const stock = await lockStockOf(tx, [orderId], { waits: true }).catch(orBusy);
  const missing = await reserveAgain(tx, stock, orderId, guard);
  if (missing !== undefined) return `"${missing}" is sold out`;
  const change = { from: 'closed', to: 'paid', orderIds: [orderId], by: 'operator' } as const;
  await guard.change(tx, { ...change, ...accountable });
  return undefined;
}

/** What is there to pay an order with. That may come back which a dispute has, and that is open. */
async function leftOf(tx: Transaction, orderId: string, paymentId: string): Promise<number> {
  const ofPayment = (await readBalances(tx, [orderId])).filter(
    (one) => one.paymentId === paymentId,
  );
  return ofPayment.reduce((sum, one) => sum + refundable(one) + one.inDispute, 0);
}

/** Who holds a product for that long may go on to: without its cause, by which it would be tried again. */
function orBusy(error: unknown): never {
  if (!isLockTimeout(error)) throw error;
  throw new LastcallError('busy', 'A product of this order is being changed; try again');
}
