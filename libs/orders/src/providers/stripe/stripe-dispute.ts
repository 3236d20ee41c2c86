import type Stripe from 'stripe';
import { fromStripeAmount } from './stripe-currency';

/** How a dispute stands. */
export type DisputeEnd =
  | { readonly state: 'OPEN' | 'WON' }
  /** `returned`: what came back all the same, in our minor units. */
  | { readonly state: 'LOST'; readonly returned?: number };

/**
 * Undefined for an inquiry, which holds no money (docs.stripe.com/disputes/how-disputes-work). One that is won in
 * part, as after a part of its charge had been refunded, is lost, and a part of its money comes back. How much that
 * is, is known once it is there, which is after the dispute is closed: until then it is open.
 */
export function endOfDispute(dispute: Stripe.Dispute): DisputeEnd | undefined {
  const { status } = dispute;
  if (status.startsWith('warning_') || status === 'prevented') return undefined;
  if (status !== 'won' && status !== 'lost') return { state: 'OPEN' };
  const { taken, returned } = moneyOf(dispute);
  if (status === 'won') {
    if (returned >= taken) return { state: 'WON' };
    if (returned === 0) return { state: 'OPEN' };
  }
  if (returned === 0) return { state: 'LOST' };
  return { state: 'LOST', returned: fromStripeAmount(returned, dispute.currency.toUpperCase()) };
}

/**
 * What its balance transactions have moved, in Stripe's units: nothing where they are in the currency that the
 * account settles in, and the dispute is in another one.
 */
function moneyOf({ balance_transactions: moves = [], currency }: Stripe.Dispute) {
  const sum = (category: string): number =>
    moves
      .filter((one) => one.reporting_category === category && one.currency === currency)
      .reduce((total, { amount }) => total + amount, 0);
  return { taken: -sum('dispute'), returned: sum('dispute_reversal') };
}
