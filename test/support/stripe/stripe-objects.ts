import type Stripe from 'stripe';

/*
 * The parts of Stripe's objects that the stand-in keeps, typed by the SDK: a field that Stripe does
 * not have, or has otherwise, does not compile.
 */

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export type StripeSession = Mutable<
  Pick<
    Stripe.Checkout.Session,
    | 'id'
    | 'object'
    | 'amount_total'
    | 'client_reference_id'
    | 'created'
    | 'currency'
    | 'expires_at'
    | 'livemode'
    | 'metadata'
    | 'payment_status'
    | 'status'
    | 'url'
  >
> & { payment_intent: string | null; excluded_payment_method_types: string[] };

export type StripeRefund = Mutable<
  Pick<
    Stripe.Refund,
    'id' | 'object' | 'amount' | 'created' | 'currency' | 'metadata' | 'status' | 'failure_reason'
  >
> & { payment_intent: string; charge: string };

export type StripeCharge = Mutable<
  Pick<
    Stripe.Charge,
    | 'id'
    | 'object'
    | 'amount_captured'
    | 'amount_refunded'
    | 'created'
    | 'currency'
    | 'disputed'
    | 'refunded'
  >
> & { payment_intent: string };

export type StripeIntent = Mutable<
  Pick<Stripe.PaymentIntent, 'id' | 'object' | 'metadata' | 'status'>
> & { latest_charge: string | null };

export type StripeDispute = Mutable<
  Pick<
    Stripe.Dispute,
    'id' | 'object' | 'amount' | 'created' | 'currency' | 'metadata' | 'reason' | 'status'
  >
> & {
  charge: string;
  payment_intent: string;
  balance_transactions: readonly Pick<
    Stripe.BalanceTransaction,
    'amount' | 'currency' | 'reporting_category'
  >[];
};

export type StripeEndpoint = Pick<
  Stripe.WebhookEndpoint,
  'id' | 'object' | 'api_version' | 'created' | 'enabled_events' | 'status' | 'url'
>;

export const nowS = (): number => Math.floor(Date.now() / 1_000);

/** An answer of the API; `keep` is false for what failed before anything was carried out. */
export interface StripeAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly keep?: boolean;
}

/** docs.stripe.com/api/errors */
export function problem(
  message: string,
  { status = 400, code, param, type = 'invalid_request_error', keep = false }: ProblemFields = {},
): StripeAnswer {
  return { status, keep, body: { error: { type, message, code, param } } };
}

interface ProblemFields {
  readonly status?: number;
  readonly code?: string;
  readonly param?: string;
  readonly type?: string;
  readonly keep?: boolean;
}

export function missing(what: string, id: string): StripeAnswer {
  return problem(`No such ${what}: '${id}'`, {
    status: 404,
    code: 'resource_missing',
    param: 'id',
  });
}
