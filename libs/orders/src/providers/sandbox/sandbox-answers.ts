import { z } from 'zod';
import type {
  CapturedMoney,
  LedgerPayment,
  ProviderAnswer,
  RefundAnswer,
} from '../payment-provider';

/* What the sandbox answers, in our words. */

/** Statuses with which the sandbox refuses what was understood; others (401, 429, 5xx) may pass. */
export const REFUSAL_STATUSES = new Set([400, 404, 409, 422]);

const refundSchema = z.object({
  id: z.string(),
  status: z.enum(['pending', 'succeeded', 'failed']),
  /** Null for one that was made by hand in the dashboard. */
  idempotencyKey: z.string().nullable(),
  amount: z.number(),
  failureReason: z.string().nullish(),
});

export const paymentSchema = z.object({
  id: z.string(),
  reference: z.string(),
  status: z.enum(['open', 'paid', 'closed', 'failed']),
  createdAt: z.iso.datetime(),
  checkoutUrl: z.string(),
  paidAt: z.string().nullable(),
  capturedAmount: z.number(),
  capturedCurrency: z.string().nullable(),
  refunds: z.array(refundSchema).optional(),
  disputes: z
    .array(
      z.object({
        id: z.string(),
        amount: z.number(),
        status: z.enum(['open', 'won', 'lost']),
        returned: z.number().optional(),
      }),
    )
    .optional(),
});
export type SandboxPayment = z.output<typeof paymentSchema>;

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export function stateOf(payment: SandboxPayment): ProviderAnswer {
  const providerPaymentId = payment.id;
  const money = moneyOf(payment);
  switch (payment.status) {
    case 'paid': {
      if (!money) return { state: 'UNKNOWN', why: 'paid without an amount' };
      const refunded = (payment.refunds ?? [])
        .filter(({ status }) => status === 'succeeded')
        .reduce((sum, { amount }) => sum + amount, 0);
      return { state: refunded >= money.amount ? 'REFUNDED' : 'PAID', providerPaymentId, money };
    }
    case 'open':
      return { state: 'UNPAID', providerPaymentId };
    case 'closed':
    case 'failed':
      return { state: 'CLOSED_UNPAID', providerPaymentId };
  }
}

function moneyOf(payment: SandboxPayment): CapturedMoney | undefined {
  if (!payment.paidAt || !payment.capturedCurrency) return undefined;
  return {
    amount: payment.capturedAmount,
    currency: payment.capturedCurrency,
    paidAt: new Date(payment.paidAt),
  };
}

export function readRefund(answer: Answer | { why: string }): RefundAnswer {
  if ('why' in answer) return { state: 'UNKNOWN', why: answer.why };
  const refund = refundSchema.safeParse(answer.body);
  if (refund.success && answer.status < 300) {
    const providerRefundId = refund.data.id;
    if (refund.data.status === 'failed') {
      const why = refund.data.failureReason ?? 'no reason given';
      return { state: 'FAILED', providerRefundId, why };
    }
    return {
      state: refund.data.status === 'succeeded' ? 'SUCCEEDED' : 'PENDING',
      providerRefundId,
    };
  }
  return { state: 'UNKNOWN', why: problemOf(answer).detail ?? `status ${answer.status}` };
}

/** A refund that was refused for good: nothing was made, and asking again would not help. */
export function refusalOf(answer: Answer | { why: string }): RefundAnswer | undefined {
  if ('why' in answer || !REFUSAL_STATUSES.has(answer.status)) return undefined;
  const { code, detail } = problemOf(answer);
  if (!code) return undefined;
  return { state: 'FAILED', providerRefundId: null, why: detail ?? code };
}

export function problemOf(answer: Answer): { code?: string; detail?: string | undefined } {
  const schema = z.object({ code: z.string(), detail: z.string().optional() });
  const problem = schema.safeParse(answer.body);
  return problem.success ? problem.data : {};
}

export function toLedgerPayment(payment: SandboxPayment): LedgerPayment {
  const states = { pending: 'PENDING', succeeded: 'SUCCEEDED', failed: 'FAILED' } as const;
  return {
    providerPaymentId: payment.id,
    paymentId: payment.reference,
    captured: moneyOf(payment) ?? null,
    refunds: (payment.refunds ?? []).map((refund) => ({
      providerRefundId: refund.id,
      idempotencyKey: refund.idempotencyKey,
      amount: refund.amount,
      state: states[refund.status],
    })),
    disputes: (payment.disputes ?? []).map(({ id: disputeId, amount, status, returned }) => ({
      disputeId,
      amount,
      state: ({ open: 'OPEN', won: 'WON', lost: 'LOST' } as const)[status],
      ...(returned ? { returned } : {}),
    })),
  };
}
