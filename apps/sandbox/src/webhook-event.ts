import { newId } from './id';
import type { Dispute, Payment, Refund } from './payment';

export type PaymentEventType = 'payment.succeeded' | 'payment.failed' | 'payment.closed';
export type RefundEventType = 'refund.succeeded' | 'refund.failed';
export type DisputeEventType = 'dispute.opened' | 'dispute.won' | 'dispute.lost';
export type DeliveryStatus = 'pending' | 'delivered' | 'dropped';

/** One thing the merchant is told. Every delivery has the same id and the same body. */
export interface WebhookEvent {
  readonly id: string;
  readonly type: PaymentEventType | RefundEventType | DisputeEventType;
  readonly providerPaymentId: string;
  readonly reference: string;
  readonly body: string;
  readonly createdAt: string;
  status: DeliveryStatus;
  deliveredAt: string | null;
  /** Requests sent, copies included. */
  attempts: number;
  lastStatus: number | null;
  lastError: string | null;
  nextAttemptAt: string | null;
}

export function paymentEvent(type: PaymentEventType, payment: Payment, at: string): WebhookEvent {
  const captured = type === 'payment.succeeded';
  return event(type, payment, at, {
    providerPaymentId: payment.id,
    reference: payment.reference,
    amount: captured ? payment.capturedAmount : payment.amount,
    currency: captured ? payment.capturedCurrency : payment.currency,
    paidAt: captured ? payment.paidAt : null,
  });
}

export function refundEvent(refund: Refund, payment: Payment, at: string): WebhookEvent {
  const type = refund.status === 'failed' ? 'refund.failed' : 'refund.succeeded';
  return event(type, payment, at, {
    providerPaymentId: payment.id,
    reference: payment.reference,
    amount: refund.amount,
    currency: refund.currency,
    paidAt: payment.paidAt,
    refundId: refund.id,
    idempotencyKey: refund.idempotencyKey,
    failureReason: refund.failureReason,
  });
}

export function disputeEvent(dispute: Dispute, payment: Payment, at: string): WebhookEvent {
  const type =
    dispute.status === 'open' ? 'dispute.opened' : (`dispute.${dispute.status}` as const);
  return event(type, payment, at, {
    providerPaymentId: payment.id,
    reference: payment.reference,
    amount: dispute.amount,
    currency: dispute.currency,
    paidAt: payment.paidAt,
    disputeId: dispute.id,
    returned: dispute.returned,
  });
}

function event(
  type: WebhookEvent['type'],
  payment: Payment,
  createdAt: string,
  data: object,
): WebhookEvent {
  return {
    id: newId('evt'),
    type,
    providerPaymentId: payment.id,
    reference: payment.reference,
    body: JSON.stringify({ type, data }),
    createdAt,
    status: 'pending',
    deliveredAt: null,
    attempts: 0,
    lastStatus: null,
    lastError: null,
    nextAttemptAt: null,
  };
}
