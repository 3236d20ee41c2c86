/** The statuses of an order; `closed`, `canceled` and `completed` are final. */
export const ORDER_STATUSES = [
  'pending_payment',
  'closing',
  'paid',
  'shipped',
  'completed',
  'closed',
  'canceled',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Nothing follows by itself; only the policy `revive` ever leads out of one (`closed`). */
export const FINAL_STATUSES: ReadonlySet<OrderStatus> = new Set([
  'completed',
  'closed',
  'canceled',
] as const);

/** Why an order was closed or canceled. */
export const CLOSE_REASONS = [
  'payment_timeout',
  'customer_canceled',
  'operator_closed',
  'shipment_timeout',
  'operator_canceled',
  'refunded_at_provider',
  'dispute_lost',
] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

/** Who changed an order. */
export type By =
  'timer' | 'sweep' | 'passive' | 'customer' | 'operator' | 'merchant' | 'provider' | 'system';

/** What a change of status does to the stock of the order's lines. */
export type StockEffect = 'none' | 'release' | 'sell' | 'restock';

/**
 * Every change of status there is, and what it does to stock. `closed -> paid` is for late money: by
 * the policy `revive`, or by an operator who accepts it; its stock is reserved again first.
 */
export const TRANSITIONS = {
  pending_payment: { paid: 'sell', closing: 'none', closed: 'release' },
  closing: { paid: 'sell', closed: 'release' },
  paid: { shipped: 'none', canceled: 'restock' },
  shipped: { completed: 'none' },
  completed: {},
  closed: { paid: 'sell' },
  canceled: {},
} as const satisfies Record<OrderStatus, Partial<Record<OrderStatus, StockEffect>>>;

/** The stock effect of a change, or undefined when the lifecycle does not know it. */
export function stockEffect(from: OrderStatus, to: OrderStatus): StockEffect | undefined {
  const exits: Partial<Record<OrderStatus, StockEffect>> = TRANSITIONS[from];
  return exits[to];
}
