/*
 * What the storefront's routes take and answer. Made from the API's OpenAPI document by
 * `npm run client:types`; test/client/client.e2e.ts compares it with the document that is served.
 */

/** Where the buyer sees the countdown and pays */
export interface CheckoutLink {
  readonly orderId: string;
  readonly url: string;
  /** The link can be opened until then, once */
  readonly expiresAt: string;
}

export interface ExtendOrdersBody {
  readonly seconds: number;
}

export interface FieldError {
  readonly field: string;
  readonly message: string;
}

export interface Order {
  readonly id: string;
  readonly customerId: string;
  readonly status:
    'pending_payment' | 'closing' | 'paid' | 'shipped' | 'completed' | 'closed' | 'canceled';
  readonly closeReason:
    | 'payment_timeout'
    | 'customer_canceled'
    | 'operator_closed'
    | 'shipment_timeout'
    | 'operator_canceled'
    | 'refunded_at_provider'
    | 'dispute_lost'
    | null;
  readonly items: readonly OrderItem[];
  /** In minor units of the currency */
  readonly amount: number;
  /** ISO 4217 */
  readonly currency: string;
  readonly createdAt: string;
  /** End of the payment window; the countdown shows payBy - serverNow */
  readonly payBy: string | null;
  /** The deadline, payBy and the grace period; null once nothing closes the order any more */
  readonly closesAt: string | null;
  readonly serverNow: string;
  readonly paidAt: string | null;
  readonly closedAt: string | null;
  readonly canceledAt: string | null;
  readonly shippedAt: string | null;
  readonly completedAt: string | null;
  /** How to follow the parcel, where the merchant has said so */
  readonly shipment: {
    readonly carrier: string | null;
    readonly trackingNumber: string | null;
  } | null;
  /** Goes up with every change */
  readonly version: number;
  /** What the order's payments hold, in minor units of its currency */
  readonly balance: {
    /** In minor units of the currency */
    readonly captured: number;
    /** Has gone back, by our refunds or at the provider */
    readonly refunded: number;
    /** Taken by disputes that are open or lost */
    readonly disputed: number;
    /** Waits for an operator */
    readonly held: number;
  };
  readonly payments: readonly Payment[];
}

/** A change of an order; the data of one server-sent event */
export interface OrderEvent {
  /** The place in the history of this order; what Last-Event-ID resumes after */
  readonly id: string;
  readonly orderId: string;
  readonly version: number;
  readonly type: string;
  readonly from:
    'pending_payment' | 'closing' | 'paid' | 'shipped' | 'completed' | 'closed' | 'canceled' | null;
  readonly to:
    'pending_payment' | 'closing' | 'paid' | 'shipped' | 'completed' | 'closed' | 'canceled';
  readonly by: string;
  readonly reason: string | null;
  readonly at: string;
}

export interface OrderItem {
  readonly sku: string;
  readonly quantity: number;
  /** As it was when the order was placed */
  readonly unitPrice: number;
  /** How many came back and are for sale again; absent while none did */
  readonly returned?: number;
}

export interface OrderPage {
  readonly items: readonly Order[];
  readonly nextCursor: string | null;
}

export type PayOrdersBody = {
  readonly provider?: string;
  /** Where the buyer comes back to, with `result=success` or `cancel` in its query */
  readonly returnUrl?: string;
} | null;

export interface Payment {
  readonly id: string;
  readonly provider: string;
  readonly providerPaymentId: string | null;
  readonly status: 'open' | 'succeeded' | 'failed' | 'closed';
  /** In minor units of the currency */
  readonly amount: number;
  /** ISO 4217 */
  readonly currency: string;
  /** Where the buyer pays */
  readonly checkoutUrl: string | null;
  readonly paidAt: string | null;
  /** Why the money waits for an operator */
  readonly holdReason: string | null;
  readonly refund: Refund | null;
}

export interface PlaceOrdersBody {
  readonly items: readonly {
    readonly sku: string;
    readonly quantity: number;
  }[];
  /** What the customer was shown, in minor units; another price is refused */
  readonly expectedTotal?: number;
}

/** RFC 9457 */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Stable: what a program decides by */
  readonly code: string;
  readonly instance?: string;
  readonly errors?: readonly FieldError[];
  readonly [name: string]: unknown;
}

export interface Product {
  readonly sku: string;
  readonly name: string;
  /** In minor units of the currency */
  readonly unitPrice: number;
  /** ISO 4217 */
  readonly currency: string;
  readonly available: number;
}

export interface ProductList {
  readonly items: readonly Product[];
  readonly nextCursor: string | null;
}

export interface Refund {
  readonly id: string;
  readonly status:
    'requested' | 'pending' | 'succeeded' | 'failed' | 'needs_attention' | 'canceled';
  /** In minor units of the currency */
  readonly amount: number;
  readonly reason:
    | 'late_payment'
    | 'duplicate_payment'
    | 'payment_mismatch'
    | 'shipment_timeout'
    | 'customer_canceled'
    | 'operator_canceled'
    | 'returned_money'
    | 'operator';
}

export type ShipOrdersBody = {
  readonly carrier?: string;
  readonly trackingNumber?: string;
} | null;

/** Opens one stream, and nothing else */
export interface StreamToken {
  /** For `GET /v1/orders/{id}/events?token=`, of this order only */
  readonly token: string;
  readonly expiresAt: string;
}
