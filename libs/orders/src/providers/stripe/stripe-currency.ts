import { LastcallError } from '../../order/errors';
import { decimalsOf } from '../currencies';

/*
 * Stripe counts most currencies in ISO 4217's minor units, as we do. The exceptions, its minimum
 * amounts and the currencies it takes are those of docs.stripe.com/currencies ("Special cases",
 * "Three-decimal currencies", "Minimum and maximum charge amounts").
 */

/** Decimals with which Stripe counts, where they are not ISO 4217's. */
const DECIMALS_AT_STRIPE: Readonly<Record<string, number>> = { ISK: 2, UGX: 2, MGA: 0 };

/** What Stripe's amount must be a multiple of: no last digit of these. Of ISK and UGX we count no fractions. */
const MULTIPLE_OF: Readonly<Record<string, number>> = {
  BHD: 10,
  JOD: 10,
  KWD: 10,
  OMR: 10,
  TND: 10,
};

/** In Stripe's units. It applies to the settlement currency: a charge that is converted has another. */
const MINIMUM: Readonly<Record<string, number>> = {
  ...{ USD: 50, AED: 200, AUD: 50, BGN: 100, BRL: 50, CAD: 50, CHF: 50, CZK: 1_500, DKK: 250 },
  ...{ EUR: 50, GBP: 30, HKD: 400, HUF: 17_500, INR: 50, JPY: 50, MXN: 1_000, MYR: 200, NOK: 300 },
  ...{ NZD: 50, PLN: 200, RON: 200, SEK: 300, SGD: 50, THB: 1_000 },
};

/** In ISO 4217's list and not in Stripe's. */
const NOT_TAKEN = new Set(
  'BTN CLF CUP ERN IQD IRR KPW LYD MRU SDG SSP STN SVC SYP TMT UYI UYW VES XCG ZWG'.split(' '),
);

export function isTakenByStripe(currency: string): boolean {
  return decimalsOf(currency) !== undefined && !NOT_TAKEN.has(currency);
}

/** Our amount in Stripe's units, however small; undefined for one that Stripe cannot charge. */
export function toStripeUnits(amount: number, currency: string): number | undefined {
  const units = scaled(amount, shiftOf(currency));
  const isWhole = Number.isInteger(units) && units % (MULTIPLE_OF[currency] ?? 1) === 0;
  return isWhole ? units : undefined;
}

/**
 * Our amount in Stripe's units. A refund may be less than what can be charged.
 * @throws {LastcallError} currency_not_supported, amount_too_small, amount_not_chargeable
 */
export function toStripeAmount(
  amount: number,
  currency: string,
  { isRefund = false } = {},
): number {
  if (!isTakenByStripe(currency)) {
    throw new LastcallError('currency_not_supported', `Stripe takes no payments in ${currency}`, {
      currency,
    });
  }
  const units = toStripeUnits(amount, currency);
  if (units === undefined) {
    const step = scaled(MULTIPLE_OF[currency] ?? 1, -shiftOf(currency));
    throw new LastcallError(
      'amount_not_chargeable',
      `Stripe charges ${currency} in steps of ${step} minor units only, and this is ${amount}`,
      { currency, amount, step },
    );
  }
  const minimum = MINIMUM[currency] ?? 1;
  if (units < minimum && !isRefund) {
    const ours = fromStripeAmount(minimum, currency);
    throw new LastcallError(
      'amount_too_small',
      `Stripe charges at least ${ours} minor units of ${currency}, and this is ${amount}`,
      { currency, amount, minimum: ours },
    );
  }
  return units;
}

/**
 * Refuses a part of a payment that Stripe would not send back.
 * @throws {LastcallError} currency_not_supported, amount_not_chargeable
 */
export function planStripeRefund({ amount, currency }: { amount: number; currency: string }): void {
  toStripeAmount(amount, currency, { isRefund: true });
}

/**
 * Stripe's units as our amount. A fraction of our minor unit, which Stripe says it never charges,
 * is told in Stripe's units: it must equal no amount of ours, so that an operator looks at it.
 */
export function fromStripeAmount(units: number, currency: string): number {
  const amount = scaled(units, -shiftOf(currency));
  return Number.isInteger(amount) ? amount : units;
}

/** By powers of ten, without the errors of multiplying by 0.01. */
function scaled(amount: number, shift: number): number {
  return shift < 0 ? amount / 10 ** -shift : amount * 10 ** shift;
}

/** How many more decimals Stripe counts with than we do. */
function shiftOf(currency: string): number {
  const ours = decimalsOf(currency) ?? 2;
  return (DECIMALS_AT_STRIPE[currency] ?? ours) - ours;
}
