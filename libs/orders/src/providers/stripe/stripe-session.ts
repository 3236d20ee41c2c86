import type Stripe from 'stripe';
import type {
  CapturedMoney,
  LedgerPayment,
  ProviderAnswer,
  RefundAnswer,
} from '../payment-provider';
import { fromStripeAmount } from './stripe-currency';
import { endOfDispute } from './stripe-dispute';
import { INSTALLATION, KEY, PAYMENT } from './stripe-names';

export type Session = Stripe.Checkout.Session;

/** Of this installation: an account may have other uses, and other installations. */
export function isOurs(
  { metadata, client_reference_id: reference }: Session,
  installation: string,
): boolean {
  return (
    reference !== null &&
    metadata?.[PAYMENT] === reference &&
    metadata[INSTALLATION] === installation
  );
}

export function stateOf(session: Session): ProviderAnswer {
  const providerPaymentId = session.id;
  const { status, payment_status } = session;
  if (payment_status === 'paid') {
    const charge = chargeOf(session);
    if (!charge) return { state: 'UNKNOWN', why: 'paid, and the charge does not tell when' };
    const money = moneyOf(session, charge.created);
    if (!money) return { state: 'UNKNOWN', why: 'paid, and the session does not tell how much' };
    return { state: charge.refunded ? 'REFUNDED' : 'PAID', providerPaymentId, money };
  }
  if (status === 'open') return { state: 'UNPAID', providerPaymentId };
  if (status === 'expired') return { state: 'CLOSED_UNPAID', providerPaymentId };
  // Complete and not paid: a bank is taking its time, until its payment has failed for good.
  const intent = typeof session.payment_intent === 'object' ? session.payment_intent : null;
  const hasFailed = intent?.status === 'canceled' || intent?.status === 'requires_payment_method';
  return { state: hasFailed ? 'CLOSED_UNPAID' : 'IN_FLIGHT', providerPaymentId };
}

/**
 * The money of a paid session, by what its page presented to the buyer and the buyer agreed to: the
 * same whether we ask or are told, and in whatever currency the account settles. Of a charge in
 * that currency, what was captured counts.
 */
export function moneyOf(session: Session, paidAtS: number): CapturedMoney | undefined {
  const { amount_total: total, currency } = session;
  if (session.payment_status !== 'paid' || total === null || currency === null) return undefined;
  const charge = chargeOf(session);
  const units = charge?.currency === currency ? charge.amount_captured : total;
  const name = currency.toUpperCase();
  return {
    amount: fromStripeAmount(units, name),
    currency: name,
    paidAt: new Date(paidAtS * 1_000),
  };
}

export function refundStateOf(refund: Stripe.Refund): Exclude<RefundAnswer, { state: 'UNKNOWN' }> {
  const providerRefundId = refund.id;
  if (refund.status === 'succeeded') return { state: 'SUCCEEDED', providerRefundId };
  if (refund.status !== 'failed' && refund.status !== 'canceled') {
    return { state: 'PENDING', providerRefundId };
  }
  return { state: 'FAILED', providerRefundId, why: refund.failure_reason ?? refund.status };
}

/** Stripe's units as ours; refunds are in the currency of their charge. */
export function refundAmountOf({ amount, currency }: Stripe.Refund): number {
  return fromStripeAmount(amount, currency.toUpperCase());
}

export function isDisputed(session: Session): boolean {
  return chargeOf(session)?.disputed ?? false;
}

/** Of a charge's refunds Stripe tells the newest ten with it. */
export function hasMoreRefunds(session: Session): boolean {
  return chargeOf(session)?.refunds?.has_more ?? false;
}

/** What is not given was told with the charge, or is nothing. */
interface MovesOf {
  readonly refunds?: readonly Stripe.Refund[] | undefined;
  readonly disputes?: readonly Stripe.Dispute[] | undefined;
}

export function toLedgerPayment(session: Session, moves: MovesOf = {}): LedgerPayment {
  const charge = chargeOf(session);
  const { refunds = charge?.refunds?.data ?? [], disputes = [] } = moves;
  return {
    providerPaymentId: session.id,
    paymentId: session.client_reference_id,
    captured: (charge && moneyOf(session, charge.created)) ?? null,
    refunds: refunds.map((refund) => ({
      providerRefundId: refund.id,
      idempotencyKey: refund.metadata?.[KEY] ?? null,
      amount: refundAmountOf(refund),
      state: refundStateOf(refund).state,
    })),
    disputes: disputes.flatMap((dispute) => {
      const end = endOfDispute(dispute);
      if (!end) return [];
      const amount = fromStripeAmount(dispute.amount, dispute.currency.toUpperCase());
      return [{ disputeId: dispute.id, amount, ...end }];
    }),
  };
}

function chargeOf({ payment_intent: intent }: Session): Stripe.Charge | undefined {
  const charge = typeof intent === 'object' ? intent?.latest_charge : undefined;
  return typeof charge === 'object' && charge !== null ? charge : undefined;
}
