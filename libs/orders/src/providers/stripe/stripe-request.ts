import type Stripe from 'stripe';
import type { NewPayment, PaymentRequest } from '../payment-provider';
import { INSTALLATION, PAYMENT } from './stripe-names';
import { toStripeAmount } from './stripe-currency';

/** What is sent to open a session; stored, so that it can be sent again word for word. */
export interface SessionRequest extends PaymentRequest {
  readonly params: Stripe.Checkout.SessionCreateParams;
  /** Unix seconds by the database's clock. */
  readonly plannedAt: number;
}

export interface SessionPolicy {
  readonly returnUrl: string;
  readonly installation: string;
  /** True: also methods whose money comes days later, behind the fence all the while. */
  readonly offersAsyncMethods: boolean;
}

/** Stripe's sessions live 30 minutes at least and a day at most, so ours are expired explicitly. */
const SESSION_LIFE_S = 31 * 60;
const LONGEST_LIFE_S = 23 * 3_600;

/**
 * Methods that say days after the buyer has gone whether they pay ("delayed notification" in
 * docs.stripe.com/payments/payment-methods/payment-method-support): longer than any payment window.
 */
const ASYNC_METHODS: Stripe.Checkout.SessionCreateParams.ExcludedPaymentMethodType[] = [
  ...(['acss_debit', 'au_becs_debit', 'bacs_debit', 'boleto', 'customer_balance'] as const),
  ...(['konbini', 'multibanco', 'nz_bank_account', 'oxxo', 'payto', 'sepa_debit'] as const),
  ...(['sofort', 'us_bank_account'] as const),
];

/** @throws {LastcallError} currency_not_supported, amount_too_small, amount_not_chargeable */
export function planSession(payment: NewPayment, policy: SessionPolicy): SessionRequest {
  const { paymentId, currency } = payment;
  const back = new URL(policy.returnUrl);
  back.searchParams.set('payment', paymentId);
  const metadata = { [PAYMENT]: paymentId, [INSTALLATION]: policy.installation };
  const price_data = {
    currency: currency.toLowerCase(),
    unit_amount: toStripeAmount(payment.amount, currency),
    product_data: { name: 'Your order' },
  };
  const plannedAt = Math.floor(payment.now.getTime() / 1_000);
  return {
    plannedAt,
    params: {
      mode: 'payment',
      client_reference_id: paymentId,
      metadata,
      payment_intent_data: { metadata },
      line_items: [{ quantity: 1, price_data }],
      // The buyer pays what the order says, in its currency.
      adaptive_pricing: { enabled: false },
      success_url: back.href,
      cancel_url: back.href,
      ...(policy.offersAsyncMethods ? {} : { excluded_payment_method_types: ASYNC_METHODS }),
      ...expiryOf(payment.expiresAt, plannedAt),
    },
  };
}

/** When Stripe itself lets the session of this request expire, if it was made. */
export function sessionEndsAt({ params, plannedAt }: SessionRequest): number {
  return params.expires_at ?? plannedAt + 24 * 3_600;
}

/** An expiry that Stripe takes; beyond a day it is left to Stripe, and to our closing. */
function expiryOf(expiresAt: Date, nowS: number): { expires_at?: number } {
  const atS = Math.floor(expiresAt.getTime() / 1_000) + SESSION_LIFE_S;
  return atS - nowS < LONGEST_LIFE_S ? { expires_at: atS } : {};
}
