import type { OrderStatus } from '../order/order.lifecycle';
import { inDisputeOfOrder, kept, type PaymentBalance } from './balance';

/** What an order and its money are, once something has happened to the money. */
export interface MoneyFacts {
  readonly status: OrderStatus;
  /** Minor units; a free order has nothing to lose. */
  readonly amount: number;
  /** Of the order's payments, in its currency. */
  readonly balances: readonly PaymentBalance[];
}

/** `cancel`: the order is paid and nothing of its money is left. `refund`: it is over, and what it still holds goes back. */
export type MoneyJudgement = 'cancel' | 'refund' | 'nothing';

const total = (
  balances: readonly PaymentBalance[],
  of: (balance: PaymentBalance) => number,
): number => balances.reduce((sum, balance) => sum + of(balance), 0);

/** Decides what becomes of an order after its money has moved: pure, and the only place for it. */
export function judgeMoney({ status, amount, balances }: MoneyFacts): MoneyJudgement {
  const isUndecided = total(balances, (one) => one.held + inDisputeOfOrder(one)) > 0;
  switch (status) {
    case 'paid':
      return !isUndecided && amount > 0 && total(balances, kept) === 0 ? 'cancel' : 'nothing';
    case 'closed':
    case 'canceled':
      return 'refund';
    case 'pending_payment':
    case 'closing':
    case 'shipped':
    case 'completed':
      return 'nothing';
    default: {
      const never: never = status;
      throw new Error(`Unknown status ${String(never)}`);
    }
  }
}

/** Why goods must not leave the house; undefined when the money is there. */
export type ShippingObstacle = 'disputed' | 'money_on_hold' | 'refunded';

export function judgeShipping({
  amount,
  balances,
}: Pick<MoneyFacts, 'amount' | 'balances'>): ShippingObstacle | undefined {
  if (total(balances, inDisputeOfOrder) > 0) return 'disputed';
  if (total(balances, ({ held }) => held) > 0) return 'money_on_hold';
  return amount > 0 && total(balances, kept) === 0 ? 'refunded' : undefined;
}
