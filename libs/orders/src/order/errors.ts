import { causesOf } from '@app/timeout';
import { shortened } from './shortened';

/**
 * A refusal the caller can act on. `code` is stable and part of the contract; `message` says what
 * is wrong and how to mend it, in words for the caller; `fields` are facts a program may want.
 */
export class LastcallError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly fields: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(shortened(message), options);
    this.name = 'LastcallError';
  }
}

/** Somebody else is changing the same things: tried again, it may well succeed. */
export const isBusy = (error: unknown): boolean =>
  error instanceof LastcallError && error.code === 'busy';

/** Every code there is, with the HTTP status it means. apps/api maps by this table. */
export const ERROR_STATUS = {
  invalid_request: 400,
  idempotency_key_missing: 400,
  bad_signature: 400,
  stale_timestamp: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  order_not_found: 404,
  product_not_found: 404,
  payment_not_found: 404,
  refund_not_found: 404,
  webhook_not_found: 404,
  customer_not_found: 404,
  customer_not_erasable: 409,
  reconcile_run_not_found: 404,
  webhook_endpoint_not_found: 404,
  webhook_delivery_not_found: 404,
  unknown_provider: 404,
  idempotency_in_progress: 409,
  out_of_stock: 409,
  order_refused: 409,
  hooks_elsewhere: 409,
  stream_elsewhere: 409,
  total_changed: 409,
  payment_window_over: 409,
  order_not_payable: 409,
  order_not_cancelable: 409,
  order_not_shippable: 409,
  order_not_receivable: 409,
  order_not_closable: 409,
  order_not_settleable: 409,
  refund_exceeds_balance: 409,
  restock_exceeds_order: 409,
  restock_not_supported: 409,
  webhook_not_dismissable: 409,
  order_not_extendable: 409,
  order_not_repeatable: 409,
  payment_not_settleable: 409,
  refund_not_retryable: 409,
  refund_not_settleable: 409,
  webhook_not_replayable: 409,
  timeouts_not_stopped: 409,
  reconcile_run_over: 409,
  reconcile_nothing_open: 409,
  too_many_payments: 409,
  stock_out_of_range: 409,
  too_many_webhook_endpoints: 409,
  body_too_large: 413,
  idempotency_key_reused: 422,
  unknown_sku: 422,
  mixed_currencies: 422,
  return_url_not_allowed: 422,
  provider_not_available: 422,
  payment_refused: 422,
  currency_not_supported: 422,
  amount_too_small: 422,
  amount_not_chargeable: 422,
  too_many_open_orders: 429,
  too_many_units: 409,
  ordering_paused: 429,
  rate_limited: 429,
  internal_error: 500,
  provider_error: 502,
  busy: 503,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** As node-postgres says that a server let nobody in within the limit. What it gives as the cause is that it hung up then. */
const SILENT = 'Connection terminated due to connection timeout';

/** The innermost message: a refused connection rather than what it was wrapped in. */
export function reasonOf(error: unknown): string {
  const causes = [...causesOf(error)];
  const inner = causes.find(({ message }) => message === SILENT) ?? causes.at(-1) ?? error;
  if (inner instanceof AggregateError && inner.errors.length > 0) return reasonOf(inner.errors[0]);
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}

/** The same answer for an order that does not exist and for one that is somebody else's. */
export function orderNotFound(): LastcallError {
  return new LastcallError('order_not_found', 'There is no such order');
}
