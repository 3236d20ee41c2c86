import { z } from 'zod';
import { LastcallError } from '../../order/errors';
import { readInput, unlessMissing, wholeNumber } from '../../order/read-input';
import type { ProviderNotice } from '../payment-provider';

/* What the sandbox's webhooks say, in our words. */

const KNOWN = [
  ...(['payment.succeeded', 'payment.failed', 'payment.closed'] as const),
  ...(['refund.succeeded', 'refund.failed'] as const),
  ...(['dispute.opened', 'dispute.won', 'dispute.lost'] as const),
] as const satisfies readonly ProviderNotice['type'][];

const minorUnits = wholeNumber(0, Number.MAX_SAFE_INTEGER);
const CURRENCY_RULE = 'must be an ISO 4217 code such as EUR';
const INSTANT_RULE = 'must be an instant as 2026-01-31T12:00:00Z';

const noticeSchema = z.object({
  type: z.enum(KNOWN),
  data: z.object({
    providerPaymentId: z.string().min(1, 'must not be empty'),
    reference: z.string(),
    amount: minorUnits,
    currency: z.string(unlessMissing(CURRENCY_RULE)).length(3, CURRENCY_RULE),
    paidAt: z.iso.datetime({ offset: true, error: INSTANT_RULE }).nullish(),
    refundId: z.string().nullish(),
    disputeId: z.string().nullish(),
    returned: minorUnits.nullish(),
    idempotencyKey: z.string().nullish(),
    failureReason: z.string().nullish(),
  }),
});

/** The type of what is about nothing of ours: it may say whatever it likes. */
function otherTypeOf(body: unknown): string | undefined {
  const { type } = Object(body) as { type?: unknown };
  const isOther = typeof type === 'string' && !(KNOWN as readonly string[]).includes(type);
  return isOther ? type : undefined;
}

type WithoutEventId<T> = T extends unknown ? Omit<T, 'eventId'> : never;

export function readNotice(rawBody: Buffer): WithoutEventId<ProviderNotice> {
  const body = parseBody(rawBody);
  const providerType = otherTypeOf(body);
  if (providerType !== undefined) return { type: 'ignored', providerType };
  const { type, data } = readInput(noticeSchema, body);
  const ids = { paymentId: data.reference, providerPaymentId: data.providerPaymentId };
  switch (type) {
    case 'payment.succeeded':
      if (!data.paidAt) throw malformed('data.paidAt is missing');
      return {
        type,
        ...ids,
        money: { amount: data.amount, currency: data.currency, paidAt: new Date(data.paidAt) },
      };
    case 'payment.failed':
    case 'payment.closed':
      return { type, ...ids };
    case 'refund.succeeded':
    case 'refund.failed':
      return {
        type,
        ...ids,
        providerRefundId: data.refundId ?? null,
        idempotencyKey: data.idempotencyKey ?? null,
        amount: data.amount,
        why: data.failureReason ?? null,
      };
    case 'dispute.opened':
    case 'dispute.won':
    case 'dispute.lost':
      if (!data.disputeId) throw malformed('data.disputeId is missing');
      return {
        ...{ type, ...ids, disputeId: data.disputeId, amount: data.amount },
        ...(data.returned ? { returned: data.returned } : {}),
      };
  }
}

function parseBody(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString('utf8')) as unknown;
  } catch {
    throw malformed('the body is not JSON');
  }
}

function malformed(what: string): LastcallError {
  return new LastcallError('invalid_request', `The webhook cannot be read: ${what}`);
}
