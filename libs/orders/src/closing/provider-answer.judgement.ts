import type { ProviderAnswer } from '../providers/payment-provider';

/**
 * What a provider's answer means for an open payment of an order behind the fence.
 * `captured`: the money is there. `closed`: final, no money will come or it has gone back already.
 * `unknown`: keep the fence and the stock, and ask again.
 */
export type AnswerMeaning = 'captured' | 'closed' | 'unknown';

const MEANINGS = {
  PAID: 'captured',
  CLOSED_UNPAID: 'closed',
  REFUNDED: 'closed',
  UNPAID: 'unknown',
  IN_FLIGHT: 'unknown',
  NEVER_MADE: 'closed',
  NOT_FOUND: 'unknown',
  UNKNOWN: 'unknown',
} as const satisfies Record<ProviderAnswer['state'], AnswerMeaning>;

/** NOT_FOUND before the payment's own expiry may be a create call still under way. */
export function judgeAnswer(state: ProviderAnswer['state'], isExpired: boolean): AnswerMeaning {
  if (state === 'NOT_FOUND' && isExpired) return 'closed';
  return MEANINGS[state];
}
