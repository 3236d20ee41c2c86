/** What a buyer is told; each has its text (apps/web/messages). */
export type CheckoutState =
  'waiting' | 'paying' | 'checking' | 'paid' | 'canceled' | 'closed' | 'refunded' | 'kept' | 'held';

/** Of an order as the API answers it, what the checkout looks at. */
export interface ShownOrder {
  readonly id: string;
  readonly status: string;
  readonly amount: number;
  readonly currency: string;
  readonly items: readonly {
    readonly sku: string;
    readonly quantity: number;
    readonly unitPrice: number;
  }[];
  readonly payBy: string | null;
  readonly serverNow: string;
  readonly balance: {
    readonly captured: number;
    readonly refunded: number;
    readonly disputed: number;
  };
  readonly payments: readonly {
    readonly status: string;
    readonly checkoutUrl: string | null;
    readonly holdReason: string | null;
    readonly refund: { readonly status: string; readonly amount: number } | null;
  }[];
}

/**
 * What the page shows of an order. `msLeft` is the time until `payBy`: at zero the page does not
 * decide that an order is closed, as a payment may have come in the last second. It says that the
 * shop is looking, which is what happens until the deadline.
 */
export function checkoutStateOf(order: ShownOrder, msLeft: number): CheckoutState {
  switch (order.status) {
    case 'pending_payment':
      if (msLeft <= 0) return 'checking';
      return order.payments.some(({ status }) => status === 'open') ? 'paying' : 'waiting';
    case 'closing':
      return 'checking';
    case 'closed':
    case 'canceled':
      if (order.payments.some(({ holdReason }) => holdReason !== null)) return 'held';
      return order.status === 'canceled' ? 'canceled' : closedStateOf(order);
    default:
      return 'paid';
  }
}

/**
 * Money that came late goes back by refunds of ours or at the provider, unless the shop keeps it, or a part.
 * What was taken in another currency is in no balance, and goes back whole.
 */
function closedStateOf({ payments, balance }: ShownOrder): CheckoutState {
  const refunds = payments.flatMap(({ refund }) => refund ?? []);
  const onItsWay = refunds.filter(({ status }) => !['succeeded', 'canceled'].includes(status));
  const back = onItsWay.reduce(
    (sum, { amount }) => sum + amount,
    balance.refunded + balance.disputed,
  );
  if ((refunds.length > 0 || balance.refunded > 0) && back >= balance.captured) return 'refunded';
  const hasPaid = payments.some(({ status }) => status === 'succeeded');
  return hasPaid || balance.captured > 0 ? 'kept' : 'closed';
}
