import type { OpenAPIObject } from '@nestjs/swagger';
import {
  problem,
  PROBLEM_TYPE,
  type ProblemCode,
  RETRY_AFTER_SECONDS,
  statusOf,
} from '@app/orders/http';
import { FAULTS, REFUSALS } from './answers';
import { UNLIMITED } from './takes';
import { schemaAt } from './json-schema';

export type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** What a caller reads when this is the answer: an example of every code there is. */
export const PROBLEM_EXAMPLES = {
  invalid_request: 'items[0].quantity: must be a whole number from 1 to 999',
  idempotency_key_missing: 'Send the header Idempotency-Key: any text that is new for a new order',
  bad_signature: 'The webhook is not genuine: no signature fits',
  stale_timestamp: 'The webhook was signed too long ago',
  unauthorized: 'Send a token: Authorization: Bearer <JWT>',
  forbidden: 'Your token does not grant the scope "orders"',
  not_found: 'There is nothing at this address',
  order_not_found: 'There is no such order',
  product_not_found: 'There is no product "TEA-NOBODY"',
  payment_not_found: 'There is no payment 0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e',
  refund_not_found: 'There is no refund 0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e',
  webhook_not_found: 'There is no stored webhook evt_1',
  unknown_provider: 'No provider "acme" is switched on',
  method_not_allowed: 'GET is not a method of this address',
  not_acceptable: 'This route answers with application/json',
  idempotency_in_progress: 'The first request with this Idempotency-Key is still being handled',
  out_of_stock: 'Only 3 of "TEA-SENCHA" can be had now',
  order_refused: 'The coupon "TEN" has been used already',
  hooks_elsewhere:
    "The host's hooks, or its own stock, have to hear of this change, and only its processes have them",
  stream_elsewhere:
    'The event stream is in Redis, and this process does not know where: set REDIS_URL',
  total_changed: 'These items cost 1300 now, and not 1250; show the customer, then order again',
  payment_window_over: 'The time to pay this order is over; place a new one',
  order_not_payable: 'This order is paid; nothing is to pay',
  order_not_cancelable: 'This order is paid; only an unpaid order can be canceled',
  order_not_shippable: 'This order is closed; only a paid order can be shipped',
  order_not_receivable: 'This order is paid; only a shipped order can be received',
  order_not_closable: 'This order is paid; only an unpaid order can be closed by force',
  order_not_extendable: 'This shop does not extend payment windows',
  order_not_repeatable: 'This order is paid; only a closed or canceled one can be placed again',
  customer_not_found: 'There is no order of this customer',
  customer_not_erasable: "One of this customer's orders is not over: end it first",
  payment_not_settleable: 'This payment holds no money for an operator',
  refund_not_retryable: 'This refund has succeeded: the money is back',
  refund_not_settleable: 'Refund 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f: it has succeeded already',
  webhook_not_replayable: 'Webhook evt_1 was processed (paid); it has had its effect',
  reconcile_run_not_found: 'There is no finished run 0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e',
  reconcile_run_over: 'This run has come to its end; begin a new one',
  reconcile_nothing_open: 'This run has left nothing open',
  timeouts_not_stopped: 'Timeouts are running: nothing to resume',
  too_many_payments: 'This order has too many payments already; cancel it and place a new one',
  stock_out_of_range:
    'Only 3 of "TEA-SENCHA" are left to take away, and this takes 5; the rest belongs to orders',
  webhook_endpoint_not_found: 'There is no such webhook endpoint',
  webhook_delivery_not_found:
    'This endpoint has no delivery 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f; nothing is sent again',
  too_many_webhook_endpoints:
    'There are 20 endpoints already; delete one that is of no use any more',
  request_timeout: 'The request took too long to arrive',
  body_too_large: 'The body is larger than this route takes',
  uri_too_long: 'The address has a part that is too long',
  unsupported_media_type: 'Send the body as application/json',
  order_not_settleable:
    'This order is paid; only an order that waits for its provider can be settled',
  refund_exceeds_balance: '900 is more than this order still holds: at most 500 can be refunded',
  restock_exceeds_order: '3 of "TEA-SENCHA" is more than can come back of this order: at most 2',
  restock_not_supported:
    "The host's own stock cannot hear of pieces that come back (its StockPort has no takeBack): refund without restock, and put them back there by hand",
  webhook_not_dismissable: 'This webhook is processed; only a held one can be dismissed',
  idempotency_key_reused:
    'This Idempotency-Key has placed a different order; use a new key for a new order',
  unknown_sku: 'There is no product "TEA-NOBODY"; GET /v1/products lists them',
  mixed_currencies:
    'One order has one currency, and these items have EUR and USD; place two orders',
  return_url_not_allowed: 'This shop does not let buyers come back to that returnUrl (RETURN_URLS)',
  provider_not_available: 'The provider "acme" takes no payments here; choose one of: sandbox',
  payment_refused: 'The payment provider refuses this payment; trying again will not help',
  currency_not_supported: 'Stripe takes no payments in XTS',
  amount_too_small: 'Stripe charges at least 50 minor units of EUR, and this is 10',
  amount_not_chargeable: 'Stripe charges KWD in steps of 10 minor units only, and this is 1234',
  too_many_open_orders: 'You have 20 unpaid orders, which is the most; pay or cancel one first',
  too_many_units:
    'At most 200 units may wait for their payment, and 190 do; order fewer, or pay first',
  ordering_paused: 'Too many of your orders in a row were not paid; order again in 120 s',
  rate_limited: 'Too many requests; try again in a moment',
  headers_too_large: 'The headers are larger than this server takes',
  internal_error: 'Something went wrong on our side; it has been logged',
  provider_error: 'The payment provider did not open a payment; try again in a moment',
  busy: 'This order is being changed; try again in a moment',
  unavailable: 'The database cannot be reached; try again soon',
} as const satisfies Record<ProblemCode, string>;

/** What these say beside it to programs; docs and answers alike. */
const EXAMPLE_FACTS: Partial<Record<ProblemCode, Readonly<Record<string, unknown>>>> = {
  invalid_request: {
    errors: [{ field: 'items[0].quantity', message: 'must be a whole number from 1 to 999' }],
  },
  forbidden: { requiredScope: 'orders' },
  out_of_stock: { sku: 'TEA-SENCHA', available: 3 },
  total_changed: { total: 1300, currency: 'EUR', expectedTotal: 1250 },
  unknown_sku: { sku: 'TEA-NOBODY' },
  mixed_currencies: { currencies: ['EUR', 'USD'] },
  payment_window_over: { status: 'closed' },
  order_not_payable: { status: 'paid' },
  amount_too_small: { currency: 'EUR', amount: 10, minimum: 50 },
  rate_limited: { retryAfterSeconds: 12 },
};

/** The examples of these codes, each once for the whole document. */
export function describeRefusals(codes: Iterable<ProblemCode>): Record<string, object> {
  return Object.fromEntries(
    [...codes].map((code) => {
      const facts = { ...EXAMPLE_FACTS[code], instance: 'urn:lastcall:request:p3Rk0aZt-1f' };
      return [code, { value: problem(code, PROBLEM_EXAMPLES[code], facts) }];
    }),
  );
}

/** One answer a status, with an example for each code that has it; returns the codes. */
export function describeProblems(operation: Operation, method: string): Set<ProblemCode> {
  const codes = codesOf(operation, method);
  if (codes.has('rate_limited')) tellOfLimits(operation);
  for (const status of new Set([...codes].map(statusOf))) {
    const those = [...codes].filter((code) => statusOf(code) === status);
    operation.responses[String(status)] = {
      description: those.join(', '),
      ...headersOf(operation, those),
      content: {
        [PROBLEM_TYPE]: {
          schema: { $ref: schemaAt('Problem') },
          examples: Object.fromEntries(
            those.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
          ),
        },
      },
    };
  }
  return codes;
}

/** Headers that many answers have; the document has each once. */
export const SHARED_HEADERS = {
  'Retry-After': {
    description: 'Seconds after which trying again is worth it',
    schema: { type: 'integer' as const, minimum: 0, examples: [1] },
  },
  RateLimit: {
    description: 'What is left of each limit, and the seconds until it begins anew',
    schema: { type: 'string' as const, examples: ['"requests";r=299;t=60'] },
  },
  'RateLimit-Policy': {
    description:
      'Each limit: how many in how many seconds (draft-ietf-httpapi-ratelimit-headers-10)',
    schema: { type: 'string' as const, examples: ['"requests";q=300;w=60'] },
  },
};

/** Also where all is well: a client that looks at them is never refused. */
function tellOfLimits({ responses }: Operation): void {
  for (const [status, response] of Object.entries(responses)) {
    if (status >= '300' || !response || '$ref' in response) continue;
    response.headers = {
      ...response.headers,
      ...headerAt('RateLimit'),
      ...headerAt('RateLimit-Policy'),
    };
  }
}

const headerAt = (name: keyof typeof SHARED_HEADERS) => ({
  [name]: { $ref: `#/components/headers/${name}` },
});

function headersOf(
  operation: Operation,
  codes: readonly ProblemCode[],
): { headers?: Record<string, { $ref: string }> } {
  const isLater = codes.some((code) => code in RETRY_AFTER_SECONDS);
  const isCounted = codes.includes('rate_limited') && !(UNLIMITED in operation);
  const headers = {
    ...(isLater ? headerAt('Retry-After') : {}),
    ...(isCounted ? { ...headerAt('RateLimit'), ...headerAt('RateLimit-Policy') } : {}),
  };
  return Object.keys(headers).length > 0 ? { headers } : {};
}

/** An id that cannot be is answered like one that is not, and a tag that fits nothing says nothing. */
function isChecked(parameter: object): boolean {
  const { name = '' } = parameter as { name?: string };
  return !['id', 'provider', 'If-None-Match'].includes(name);
}

function codesOf(operation: Operation, method: string): Set<ProblemCode> {
  const { [REFUSALS]: own = [], [FAULTS]: faults = [] } = operation as {
    [REFUSALS]?: ProblemCode[];
    [FAULTS]?: ProblemCode[];
  };
  // Even where no body is wanted: one with fields in it is refused.
  const takesBody = method !== 'get' && method !== 'delete';
  const takesInput = takesBody || (operation.parameters ?? []).some(isChecked);
  return new Set<ProblemCode>([
    ...own,
    ...(takesInput ? (['invalid_request'] as const) : []),
    ...(takesBody ? (['body_too_large'] as const) : []),
    // Webhooks, too, which are taken as any type: none may have a Content-Encoding.
    ...(takesBody ? (['unsupported_media_type'] as const) : []),
    ...(operation.security?.length ? (['unauthorized', 'forbidden'] as const) : []),
    ...(UNLIMITED in operation ? [] : (['rate_limited'] as const)),
    ...faults,
  ]);
}
