import { z } from 'zod';
import { LastcallError } from '../order/errors';
import { decimalsOf } from './currencies';
import type {
  CapturedMoney,
  CreateAnswer,
  LedgerPayment,
  NewPayment,
  PaymentProvider,
  PaymentRef,
  PaymentRequest,
  ProviderAnswer,
  ProviderNotice,
  RefundAnswer,
  RefundRequest,
} from './payment-provider';
import { returnAddresses } from './return-addresses';
import { verifyStandardWebhook } from './standard-webhook';

export interface SandboxProviderOptions {
  /** Where the sandbox listens, without a path. */
  readonly url: string;
  /** Secrets a webhook may be signed with; two while one replaces the other. */
  readonly webhookSecrets: readonly string[];
}

/** How long one call may take; the provider's own promise is seconds. */
const CALL_LIMIT_MS = 3_000;
const LEDGER_PAGE = 1_000;
const LEDGER_ATTEMPTS = 3;
const NOT_FOUND_CODE = 'payment_not_found';
/** Statuses with which the sandbox refuses what was understood; others (401, 429, 5xx) may pass. */
const REFUSAL_STATUSES = new Set([400, 404, 409, 422]);

/** Said before the sandbox has looked at what was asked. */
const TURNED_AWAY = new Set([401, 403, 429]);

const refundSchema = z.object({
  id: z.string(),
  status: z.enum(['pending', 'succeeded', 'failed']),
  /** Null for one that was made by hand in the dashboard. */
  idempotencyKey: z.string().nullable(),
  amount: z.number(),
  failureReason: z.string().nullish(),
});

const paymentSchema = z.object({
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
      z.object({ id: z.string(), amount: z.number(), status: z.enum(['open', 'won', 'lost']) }),
    )
    .optional(),
});
type SandboxPayment = z.output<typeof paymentSchema>;

const noticeSchema = z.object({
  type: z.string(),
  data: z.object({
    providerPaymentId: z.string().min(1),
    reference: z.string(),
    amount: z.int().min(0),
    currency: z.string().length(3),
    paidAt: z.iso.datetime({ offset: true }).nullish(),
    refundId: z.string().nullish(),
    disputeId: z.string().nullish(),
    idempotencyKey: z.string().nullish(),
    failureReason: z.string().nullish(),
  }),
});

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** The sandbox (apps/sandbox), spoken to as to a foreign system. */
export class SandboxProvider implements PaymentProvider {
  readonly name = 'sandbox';
  readonly takesRealMoney = false;

  constructor(private readonly options: SandboxProviderOptions) {}

  takes(currency: string): boolean {
    return decimalsOf(currency) !== undefined;
  }

  planPayment(payment: NewPayment): PaymentRequest {
    const { paymentId, amount, currency, expiresAt } = payment;
    if (this.takes(currency)) {
      const shown = shownToBuyer(payment);
      return {
        reference: paymentId,
        amount,
        currency,
        expiresAt: expiresAt.toISOString(),
        ...shown,
      };
    }
    const message = `${currency} is no currency of ISO 4217, and nothing can be charged in it`;
    throw new LastcallError('currency_not_supported', message, { currency });
  }

  async createPayment({
    request,
  }: PaymentRef & { readonly request: PaymentRequest }): Promise<CreateAnswer> {
    const answer = await this.#call('POST', '/v1/payments', request);
    const created = paymentSchema.safeParse('status' in answer ? answer.body : undefined);
    if (created.success && 'status' in answer && answer.status < 300) {
      const { id, checkoutUrl } = created.data;
      return { state: 'CREATED', providerPaymentId: id, checkoutUrl };
    }
    if ('why' in answer) return { state: 'UNKNOWN', why: answer.why };
    const why = problemOf(answer).detail ?? `status ${answer.status}`;
    if (TURNED_AWAY.has(answer.status)) return { state: 'NOT_MADE', why };
    const isRefused = REFUSAL_STATUSES.has(answer.status) && problemOf(answer).code !== undefined;
    return { state: isRefused ? 'REFUSED' : 'UNKNOWN', why };
  }

  async findPayment(payment: PaymentRef): Promise<ProviderAnswer> {
    const answer = payment.providerPaymentId
      ? await this.#call('GET', `/v1/payments/${encodeURIComponent(payment.providerPaymentId)}`)
      : await this.#findByReference(payment.paymentId);
    return this.#read(answer);
  }

  async closePayment(payment: PaymentRef): Promise<ProviderAnswer> {
    let id = payment.providerPaymentId;
    if (!id) {
      const found = this.#read(await this.#findByReference(payment.paymentId));
      // Also when it could not be looked up: not knowing is not the same as not being there.
      if (!('providerPaymentId' in found)) return found;
      id = found.providerPaymentId;
    }
    return this.#read(await this.#call('POST', `/v1/payments/${encodeURIComponent(id)}/close`, {}));
  }

  async refund(request: RefundRequest): Promise<RefundAnswer> {
    const answer = await this.#call('POST', '/v1/refunds', {
      paymentId: request.providerPaymentId,
      amount: request.amount,
      idempotencyKey: request.idempotencyKey,
    });
    const read = readRefund(answer);
    return read.state === 'UNKNOWN' ? (refusalOf(answer) ?? read) : read;
  }

  /** A refund that was accepted and cannot be found now has not failed: it is UNKNOWN. */
  async findRefund(providerRefundId: string): Promise<RefundAnswer> {
    return readRefund(
      await this.#call('GET', `/v1/refunds/${encodeURIComponent(providerRefundId)}`),
    );
  }

  readWebhook(
    rawBody: Buffer,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    now: Date,
  ): ProviderNotice {
    const eventId = verifyStandardWebhook(rawBody, headers, now, this.options.webhookSecrets);
    return { eventId, ...readNotice(rawBody) };
  }

  async *ledger(since: Date): AsyncIterable<LedgerPayment> {
    let cursor: string | null = null;
    do {
      const query = new URLSearchParams({ since: since.toISOString(), limit: String(LEDGER_PAGE) });
      if (cursor) query.set('cursor', cursor);
      const answer = await this.#call('GET', `/v1/ledger?${query.toString()}`);
      const page = z
        .object({
          payments: z.array(paymentSchema),
          refunds: z.array(z.object({ paymentId: z.string() })),
          nextCursor: z.string().nullable(),
        })
        .safeParse('body' in answer ? answer.body : undefined);
      if (!page.success) {
        throw new LastcallError('provider_error', 'The provider did not show its ledger', {
          why: 'why' in answer ? answer.why : page.error.message,
        });
      }
      const { payments, refunds } = page.data;
      for (const payment of payments) yield toLedgerPayment(payment);
      const here = new Set(payments.map(({ id }) => id));
      const elsewhere = new Set(refunds.map(({ paymentId }) => paymentId));
      for (const id of elsewhere) if (!here.has(id)) yield* this.#olderPayment(id, since);
      cursor = page.data.nextCursor;
    } while (cursor);
  }

  /** A payment made before `since` that was refunded after; one of another page is there already. */
  async *#olderPayment(id: string, since: Date): AsyncIterable<LedgerPayment> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#call('GET', `/v1/payments/${encodeURIComponent(id)}`);
      const payment = paymentSchema.safeParse('body' in answer ? answer.body : undefined);
      if (payment.success) {
        if (new Date(payment.data.createdAt) < since) yield toLedgerPayment(payment.data);
        return;
      }
      if (attempt < LEDGER_ATTEMPTS) continue;
      throw new LastcallError('provider_error', 'The provider did not show a payment', { id });
    }
  }

  async #findByReference(reference: string): Promise<Answer | { why: string }> {
    const answer = await this.#call(
      'GET',
      `/v1/payments?reference=${encodeURIComponent(reference)}`,
    );
    if ('why' in answer || answer.status !== 200) return answer;
    const found = z.object({ items: z.array(z.unknown()) }).safeParse(answer.body);
    if (!found.success) return { why: 'the answer makes no sense' };
    const [first] = found.data.items;
    return first ? { status: 200, body: first } : { status: 404, body: { code: NOT_FOUND_CODE } };
  }

  #read(answer: Answer | { why: string }): ProviderAnswer {
    if ('why' in answer) return { state: 'UNKNOWN', why: answer.why };
    // Only in the sandbox's own words: whoever else answers 404 says nothing about a payment.
    if (answer.status === 404 && problemOf(answer).code === NOT_FOUND_CODE) {
      return { state: 'NOT_FOUND' };
    }
    // "Already paid" is 409 with the payment in it: a normal answer to a close.
    const isRefused = answer.status === 409;
    const body = isRefused ? (answer.body as { payment?: unknown }).payment : answer.body;
    const payment = paymentSchema.safeParse(body);
    if (!payment.success || (!isRefused && answer.status >= 300)) {
      return { state: 'UNKNOWN', why: `status ${answer.status}` };
    }
    return stateOf(payment.data);
  }

  async #call(method: string, path: string, body?: object): Promise<Answer | { why: string }> {
    try {
      const response = await fetch(new URL(path, this.options.url), {
        method,
        signal: AbortSignal.timeout(CALL_LIMIT_MS),
        ...(body && {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
      });
      return { status: response.status, body: await response.json() };
    } catch (error) {
      // Timeouts, resets and bodies that are not JSON: the provider may or may not have acted.
      return { why: error instanceof Error ? error.message : String(error) };
    }
  }
}

function stateOf(payment: SandboxPayment): ProviderAnswer {
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

function readRefund(answer: Answer | { why: string }): RefundAnswer {
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
function refusalOf(answer: Answer | { why: string }): RefundAnswer | undefined {
  if ('why' in answer || !REFUSAL_STATUSES.has(answer.status)) return undefined;
  const { code, detail } = problemOf(answer);
  if (!code) return undefined;
  return { state: 'FAILED', providerRefundId: null, why: detail ?? code };
}

function problemOf(answer: Answer): { code?: string; detail?: string | undefined } {
  const schema = z.object({ code: z.string(), detail: z.string().optional() });
  const problem = schema.safeParse(answer.body);
  return problem.success ? problem.data : {};
}

function toLedgerPayment(payment: SandboxPayment): LedgerPayment {
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
    disputes: (payment.disputes ?? []).map(({ id: disputeId, amount, status }) => ({
      disputeId,
      amount,
      state: ({ open: 'OPEN', won: 'WON', lost: 'LOST' } as const)[status],
    })),
  };
}

type WithoutEventId<T> = T extends unknown ? Omit<T, 'eventId'> : never;

function readNotice(rawBody: Buffer): WithoutEventId<ProviderNotice> {
  const { type, data } = parseNotice(rawBody);
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
      return { type, ...ids, disputeId: data.disputeId, amount: data.amount };
    default:
      return { type: 'ignored', providerType: type };
  }
}

function parseNotice(rawBody: Buffer): z.output<typeof noticeSchema> {
  let json: unknown;
  try {
    json = JSON.parse(rawBody.toString('utf8'));
  } catch {
    throw malformed('the body is not JSON');
  }
  const parsed = noticeSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw malformed(`${issue?.path.join('.')}: ${issue?.message}`);
}

function malformed(what: string): LastcallError {
  return new LastcallError('invalid_request', `The webhook cannot be read: ${what}`);
}

function shownToBuyer({ paymentId, checkout }: NewPayment): Readonly<Record<string, unknown>> {
  if (!checkout) return {};
  const { orderId, payBy, lines, returnUrl } = checkout;
  return {
    ...(payBy ? { payBy: payBy.toISOString() } : {}),
    lines: lines.map(({ name, quantity, unitPrice }) => ({ name, quantity, unitPrice })),
    ...(returnUrl ? returnAddresses(returnUrl, { orderId, paymentId }) : {}),
  };
}
