import type Stripe from 'stripe';
import { endOfDispute } from './stripe-dispute';

/** What took money away, and what brought it back. */
const moved = (amount: number, currency = 'eur') => ({
  amount,
  currency,
  reporting_category: amount < 0 ? 'dispute' : 'dispute_reversal',
});
const dispute = (
  status: Stripe.Dispute.Status,
  moves?: readonly ReturnType<typeof moved>[],
): Stripe.Dispute =>
  ({
    ...{ id: 'du_1', amount: 1_000, currency: 'eur', status },
    balance_transactions: moves,
  }) as unknown as Stripe.Dispute;

it.each<[string, Stripe.Dispute, object | undefined]>([
  ['an inquiry', dispute('warning_needs_response', []), undefined],
  ['open', dispute('under_review', [moved(-1_000)]), { state: 'OPEN' }],
  ['won', dispute('won', [moved(-1_000), moved(1_000)]), { state: 'WON' }],
  ['won, and it is not told what came back', dispute('won'), { state: 'WON' }],
  ['won, and nothing has come back yet', dispute('won', [moved(-1_000)]), { state: 'OPEN' }],
  ['won, and it had taken nothing', dispute('won', []), { state: 'WON' }],
  ['won, of which all came back', dispute('won', [moved(-700), moved(700)]), { state: 'WON' }],
  ['won in part', dispute('won', [moved(-1_000), moved(400)]), { state: 'LOST', returned: 400 }],
  ['lost', dispute('lost', [moved(-1_000)]), { state: 'LOST' }],
  // What had been refunded before (docs.stripe.com/disputes/how-disputes-work).
  ['lost in part', dispute('lost', [moved(-1_000), moved(300)]), { state: 'LOST', returned: 300 }],
  [
    'settled in another currency, in which nothing can be told',
    dispute('lost', [moved(-1_100, 'usd'), moved(330, 'usd')]),
    { state: 'LOST' },
  ],
])('reads how a dispute stands: %s', (_, one, end) => {
  expect(endOfDispute(one)).toEqual(end);
});
