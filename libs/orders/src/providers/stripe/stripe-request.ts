import type Stripe from 'stripe';
import type { NewPayment, PaymentRequest } from '../payment-provider';
import { INSTALLATION, PAYMENT } from './stripe-names';
import { returnAddresses } from '../return-addresses';
import { toStripeAmount, toStripeUnits } from './stripe-currency';

/** What is sent to open a session; stored, so that it can be sent again word for word. */
export interface SessionRequest extends PaymentRequest {
  readonly params: Stripe.Checkout.SessionCreateParams;
  /** Unix seconds by the database's clock. */
  readonly plannedAt: number;
}

export interface SessionPolicy {
  /** Where buyers go whose payment names no page of the shop's. */
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
  const { paymentId, checkout } = payment;
  const { successUrl, cancelUrl } = returnAddresses(checkout?.returnUrl ?? policy.returnUrl, {
    orderId: checkout?.orderId,
    paymentId,
  });
  const metadata = { [PAYMENT]: paymentId, [INSTALLATION]: policy.installation };
  const plannedAt = Math.floor(payment.now.getTime() / 1_000);
  return {
    plannedAt,
    params: {
      mode: 'payment',
      client_reference_id: paymentId,
      metadata,
      payment_intent_data: { metadata },
      line_items: lineItemsOf(payment),
      // The buyer pays what the order says, in its currency.
      adaptive_pricing: { enabled: false },
      success_url: successUrl,
      cancel_url: cancelUrl,
      ...(policy.offersAsyncMethods ? {} : { excluded_payment_method_types: ASYNC_METHODS }),
      ...expiryOf(payment.expiresAt, plannedAt),
    },
  };
}

type LineItem = Stripe.Checkout.SessionCreateParams.LineItem;

/**
 * The order's lines. Where Stripe cannot charge the price of one (it counts KWD in steps of 10 minor
 * units) and yet can charge their sum, one line stands for all of them.
 * @throws {LastcallError} currency_not_supported, amount_too_small, amount_not_chargeable
 */
function lineItemsOf({ amount, currency, checkout }: NewPayment): LineItem[] {
  const total = toStripeAmount(amount, currency);
  const item = (name: string, quantity: number, unit_amount: number): LineItem => ({
    quantity,
    price_data: { currency: currency.toLowerCase(), unit_amount, product_data: { name } },
  });
  const items = (checkout?.lines ?? []).flatMap(({ name, quantity, unitPrice }) => {
    const units = toStripeUnits(unitPrice, currency);
    return units === undefined ? [] : [item(name, quantity, units)];
  });
  const isWhole = items.length > 0 && items.length === checkout?.lines.length;
  return isWhole ? items : [item('Your order', 1, total)];
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
