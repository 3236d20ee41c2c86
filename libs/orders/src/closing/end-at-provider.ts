import { failpoint } from '@app/timeout';
import type { PaymentProvider, PaymentRef, ProviderAnswer } from '../providers/payment-provider';

/**
 * A create call is over, whatever became of it, after this long: only then can "not found" mean
 * that there is no such payment. Longer than every provider's limit for a call, retries included.
 */
export const CREATE_LIMIT_S = 10;

/**
 * Ends a payment where it was opened, outside of any transaction. Query first, so that money that
 * is there is never missed; then close; then query again.
 */
export async function endAtProvider(
  provider: PaymentProvider,
  ref: PaymentRef,
): Promise<ProviderAnswer> {
  const before = await provider.findPayment(ref);
  await failpoint('closing.asked');
  if (before.state !== 'UNPAID') return before;
  const known = { ...ref, providerPaymentId: before.providerPaymentId };
  const closed = await provider.closePayment(known);
  await failpoint('closing.closed_at_provider');
  return isFinal(closed) ? closed : provider.findPayment(known);
}

function isFinal({ state }: ProviderAnswer): boolean {
  return state === 'PAID' || state === 'CLOSED_UNPAID' || state === 'REFUNDED';
}

/** The alert for an answer that ends the payment and that an operator should know of all the same. */
export function alertOfEnd(
  ref: PaymentRef,
  isExpired: boolean,
  answer: ProviderAnswer,
): string | undefined {
  if (answer.state === 'REFUNDED') return 'refunded_outside';
  const wasThere = ref.providerPaymentId !== null;
  return answer.state === 'NOT_FOUND' && isExpired && wasThere ? 'payment_vanished' : undefined;
}
