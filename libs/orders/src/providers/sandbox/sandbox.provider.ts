import { z } from 'zod';
import { LastcallError, reasonOf } from '../../order/errors';
import { decimalsOf } from '../currencies';
import type {
  CreateAnswer,
  ExtendAnswer,
  LedgerPage,
  MoreTime,
  NewPayment,
  PaymentProvider,
  PaymentRef,
  PaymentRequest,
  ProviderAnswer,
  ProviderNotice,
  RefundAnswer,
  RefundRequest,
} from '../payment-provider';
import { returnAddresses } from '../return-addresses';
import {
  type Answer,
  paymentSchema,
  problemOf,
  readRefund,
  refusalOf,
  REFUSAL_STATUSES,
  type SandboxPayment,
  stateOf,
  toLedgerPayment,
} from './sandbox-answers';
import { readNotice } from './sandbox-notice';
import { verifyStandardWebhook } from '../standard-webhook';

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
/** Said before the sandbox has looked at what was asked. */
const TURNED_AWAY = new Set([401, 403, 429]);

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

  async extendPayment(
    { providerPaymentId }: PaymentRef,
    { payBy, expiresAt }: MoreTime,
  ): Promise<ExtendAnswer> {
    if (!providerPaymentId) return { state: 'UNKNOWN', why: 'its id is not known yet' };
    const answer = await this.#call(
      'POST',
      `/v1/payments/${encodeURIComponent(providerPaymentId)}/extend`,
      { payBy: payBy.toISOString(), expiresAt: expiresAt.toISOString() },
    );
    if ('why' in answer) return { state: 'UNKNOWN', why: answer.why };
    if (answer.status === 200 && paymentSchema.safeParse(answer.body).success) {
      return { state: 'EXTENDED', expiresAt };
    }
    const why = problemOf(answer).detail ?? `status ${answer.status}`;
    return { state: answer.status === 409 ? 'REFUSED' : 'UNKNOWN', why };
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

  async *ledger(since: Date, from: string | null): AsyncIterable<LedgerPage> {
    let cursor = from;
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
      const here = new Set(payments.map(({ id }) => id));
      const elsewhere = new Set(refunds.map(({ paymentId }) => paymentId));
      const older: SandboxPayment[] = [];
      for (const id of elsewhere) if (!here.has(id)) older.push(await this.#payment(id));
      cursor = page.data.nextCursor;
      yield { payments: [...payments, ...older].map(toLedgerPayment), next: cursor };
    } while (cursor);
  }

  /** One whose refund is on this page, and which is on another or older than the ledger that was asked for. */
  async #payment(id: string): Promise<SandboxPayment> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#call('GET', `/v1/payments/${encodeURIComponent(id)}`);
      const payment = paymentSchema.safeParse('body' in answer ? answer.body : undefined);
      if (payment.success) return payment.data;
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
      return { why: reasonOf(error) };
    }
  }
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
