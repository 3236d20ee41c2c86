import type Stripe from 'stripe';
import type { ProviderNotice } from '../payment-provider';
import { INSTALLATION, KEY, PAYMENT, SESSION } from './stripe-names';
import { fromStripeAmount } from './stripe-currency';
import { endOfDispute } from './stripe-dispute';
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
  'charge.dispute.created',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'charge.dispute.closed',
] as const;

/** Finds the session behind a payment intent; rejects when Stripe does not answer. */
export type FindSession = (paymentIntent: string) => Promise<Session | undefined>;

/**
 * What an event means to us; the account may have other uses, whose events are ignored. A dispute
 * and a refund made in the dashboard name their payment intent alone, so the session is looked up.
 */
export function noticeOf(
  event: Stripe.Event,
  installation: string,
  findSession: FindSession,
): Notice | Promise<Notice> {
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
      return event.data.object.metadata?.[KEY]
        ? (refundNotice(event.data.object, installation) ?? ignored)
        : foreignRefund(event.data.object, installation, findSession).then((one) => one ?? ignored);
    case 'charge.dispute.created':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
    case 'charge.dispute.closed':
      return disputeNotice(event.data.object, installation, findSession).then(
        (one) => one ?? ignored,
      );
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

/** Made in the dashboard, by none of our requests. */
async function foreignRefund(
  refund: Stripe.Refund,
  installation: string,
  findSession: FindSession,
): Promise<Notice | undefined> {
  const answer = refundStateOf(refund);
  if (answer.state === 'PENDING') return undefined;
  const session = await ourSession(refund.payment_intent, installation, findSession);
  return (
    session && {
      type: answer.state === 'SUCCEEDED' ? 'refund.succeeded' : 'refund.failed',
      ...session,
      providerRefundId: refund.id,
      idempotencyKey: null,
      amount: refundAmountOf(refund),
      why: answer.state === 'FAILED' ? answer.why : null,
    }
  );
}

/** An inquiry ("warning") takes no money, and is none of ours. */
async function disputeNotice(
  dispute: Stripe.Dispute,
  installation: string,
  findSession: FindSession,
): Promise<Notice | undefined> {
  const end = endOfDispute(dispute);
  if (!end) return undefined;
  const session = await ourSession(dispute.payment_intent, installation, findSession);
  const types = { OPEN: 'dispute.opened', WON: 'dispute.won', LOST: 'dispute.lost' } as const;
  return (
    session && {
      type: types[end.state],
      ...session,
      disputeId: dispute.id,
      amount: fromStripeAmount(dispute.amount, dispute.currency.toUpperCase()),
      ...('returned' in end ? { returned: end.returned } : {}),
    }
  );
}

async function ourSession(
  intent: string | { readonly id: string } | null,
  installation: string,
  findSession: FindSession,
): Promise<{ paymentId: string; providerPaymentId: string } | undefined> {
  const id = typeof intent === 'string' ? intent : intent?.id;
  const session = id === undefined ? undefined : await findSession(id);
  if (!session?.client_reference_id || !isOurs(session, installation)) return undefined;
  return { paymentId: session.client_reference_id, providerPaymentId: session.id };
}
