import type { CloseReason, OrderStatus } from './order.lifecycle';

/** One line of an order: the price is the one of the moment it was placed, in minor units. */
export interface OrderItem {
  readonly sku: string;
  readonly quantity: number;
  readonly unitPrice: number;
  /** How many of them came back and are for sale again; absent while none did. */
  readonly returned?: number;
}

export type PaymentStatus = 'open' | 'succeeded' | 'failed' | 'closed';
/** `canceled`: owed no longer, as the money has gone back in another way. */
export type RefundStatus =
  'requested' | 'pending' | 'succeeded' | 'failed' | 'needs_attention' | 'canceled';
export type RefundReason =
  | 'late_payment'
  | 'duplicate_payment'
  | 'payment_mismatch'
  | 'shipment_timeout'
  | 'customer_canceled'
  | 'operator_canceled'
  | 'returned_money'
  | 'operator';

export interface RefundView {
  readonly id: string;
  readonly status: RefundStatus;
  readonly amount: number;
  readonly reason: RefundReason;
}

export interface PaymentView {
  readonly id: string;
  readonly provider: string;
  readonly providerPaymentId: string | null;
  readonly status: PaymentStatus;
  /** Minor units of `currency`, as all amounts. */
  readonly amount: number;
  readonly currency: string;
  readonly checkoutUrl: string | null;
  readonly paidAt: string | null;
  /** Why the money waits for an operator, when it does. */
  readonly holdReason: string | null;
  readonly refund: RefundView | null;
}

/**
 * What an order's payments hold, in minor units of its currency: the sum of their movements.
 * Money that was taken in another currency is on hold on its payment, and not in here.
 */
export interface OrderBalance {
  readonly captured: number;
  /** Has gone back, by our refunds or at the provider. */
  readonly refunded: number;
  /** Taken by disputes that are open or lost. */
  readonly disputed: number;
  /** Waits for an operator. */
  readonly held: number;
}

export const EMPTY_BALANCE: OrderBalance = { captured: 0, refunded: 0, disputed: 0, held: 0 };

/** How to follow a parcel, in the merchant's words. */
export interface Shipment {
  readonly carrier: string | null;
  readonly trackingNumber: string | null;
}

/** An order as the API answers it: instants are ISO 8601 UTC. */
export interface OrderView {
  readonly id: string;
  readonly customerId: string;
  readonly status: OrderStatus;
  readonly closeReason: CloseReason | null;
  readonly items: readonly OrderItem[];
  readonly amount: number;
  readonly currency: string;
  readonly createdAt: string;
  /** End of the payment window, which the customer's countdown shows. */
  readonly payBy: string | null;
  /** The deadline, `payBy` plus the grace period; null once nothing closes the order any more. */
  readonly closesAt: string | null;
  readonly serverNow: string;
  readonly paidAt: string | null;
  readonly closedAt: string | null;
  readonly canceledAt: string | null;
  readonly shippedAt: string | null;
  readonly completedAt: string | null;
  /** What the merchant has said of the parcel; null when nothing. */
  readonly shipment: Shipment | null;
  readonly version: number;
  readonly balance: OrderBalance;
  readonly payments: readonly PaymentView[];
}

/** The lock key of an order is this and its id. */
export const ORDER_LOCK_PREFIX = 'lock:order:';

export function orderLockKey(orderId: string): string {
  return `${ORDER_LOCK_PREFIX}${orderId}`;
}
