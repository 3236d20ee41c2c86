import type Stripe from 'stripe';
import type { ProviderNotice } from '../payment-provider';
import { INSTALLATION, KEY, PAYMENT, SESSION } from './stripe-names';
import { isOurs, moneyOf, refundAmountOf, refundStateOf, type Session } from './stripe-session';

type WithoutEventId<T> = T extends unknown ? Omit<T, 'eventId'> : never;
type Notice = WithoutEventId<ProviderNotice>;

/** The events that a webhook endpoint has to send. */
export const EVENTS = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'refund.created',
  'refund.updated',
  'refund.failed',
] as const;

/** What an event means to us; the account may have other uses, whose events are ignored. */
export function noticeOf(event: Stripe.Event, installation: string): Notice {
  const ignored = { type: 'ignored', providerType: event.type } as const;
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return isOurs(event.data.object, installation)
        ? succeeded(event.data.object, event.created)
        : ignored;
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired': {
      const { id, client_reference_id: paymentId } = event.data.object;
      if (!isOurs(event.data.object, installation) || !paymentId) return ignored;
      const isExpired = event.type === 'checkout.session.expired';
      const type = isExpired ? 'payment.closed' : 'payment.failed';
      return { type, paymentId, providerPaymentId: id };
    }
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
      return refundNotice(event.data.object, installation) ?? ignored;
    default:
      return ignored;
  }
}

/** A session that is complete and not paid waits for a bank: its event comes later. */
function succeeded(session: Session, createdS: number): Notice {
  const { id, client_reference_id: paymentId } = session;
  const money = moneyOf(session, createdS);
  if (!money || !paymentId) return { type: 'ignored', providerType: `unpaid session ${id}` };
  return { type: 'payment.succeeded', paymentId, providerPaymentId: id, money };
}

function refundNotice(refund: Stripe.Refund, installation: string): Notice | undefined {
  const { [KEY]: idempotencyKey, [PAYMENT]: paymentId, [SESSION]: session } = refund.metadata ?? {};
  const answer = refundStateOf(refund);
  if (!idempotencyKey || !paymentId || !session || answer.state === 'PENDING') return undefined;
  if (refund.metadata?.[INSTALLATION] !== installation) return undefined;
  return {
    type: answer.state === 'SUCCEEDED' ? 'refund.succeeded' : 'refund.failed',
    paymentId,
    providerPaymentId: session,
    providerRefundId: refund.id,
    idempotencyKey,
    amount: refundAmountOf(refund),
    why: answer.state === 'FAILED' ? answer.why : null,
  };
}
