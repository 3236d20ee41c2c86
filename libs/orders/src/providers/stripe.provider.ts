import Stripe from 'stripe';
import { LastcallError } from '../order/errors';
import { isUuid } from '../order/uuid';
import type {
  CapturedMoney,
  CreatedPayment,
  LedgerPayment,
  PaymentProvider,
  PaymentRef,
  ProviderAnswer,
  ProviderNotice,
  RefundAnswer,
  RefundRequest,
} from './payment-provider';

export interface StripeProviderOptions {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** Another host than Stripe's own, for tests. */
  readonly apiUrl?: string | undefined;
  /** Where the buyer goes from Stripe's page; `payment` is added to its query. */
  readonly returnUrl: string;
}

type Session = Stripe.Checkout.Session;
type WithoutEventId<T> = T extends unknown ? Omit<T, 'eventId'> : never;

/** Two tries of this length and the pause between them are the few seconds a call may take. */
const CALL_LIMIT_MS = 4_000;
const RETRIES = 1;
/** Stripe's sessions live 30 minutes at least and a day at most, so ours are expired explicitly. */
const SESSION_LIFE_S = 31 * 60;
const LONGEST_LIFE_S = 23 * 3_600;
/** A session whose id never reached us was made within this time of our payment, or never. */
const LOOKUP_BEFORE_S = 60;
const LOOKUP_AFTER_S = 300;
/** More sessions than this in those six minutes: nothing is known then, and asked again. */
const MAX_LOOKED_AT = 5_000;
const TOLERANCE_S = 300;
const PAGE = 100;
/** A session does not tell when it was paid; the charge behind it does, and what went back. */
const MONEY = 'payment_intent.latest_charge';
const MONEY_AND_REFUNDS = `${MONEY}.refunds`;
/** What marks a refund as ours: the key of the attempt, our payment, its session. */
const KEY = 'lastcall_key';
const PAYMENT = 'lastcall_payment';
const SESSION = 'lastcall_session';

/** Stripe Checkout: a payment is a Checkout Session that carries our payment id. */
export class StripeProvider implements PaymentProvider {
  readonly name = 'stripe';
  readonly takesRealMoney: boolean;
  readonly #stripe: Stripe;

  constructor(private readonly options: StripeProviderOptions) {
    // sk_test_ and rk_test_ charge nobody; Stripe's own reference names the prefixes.
    this.takesRealMoney = !/^[a-z]+_test_/.test(options.secretKey);
    this.#stripe = new Stripe(options.secretKey, {
      ...hostOf(options.apiUrl),
      timeout: CALL_LIMIT_MS,
      maxNetworkRetries: RETRIES,
      telemetry: false,
    });
  }

  async createPayment({ paymentId, ...payment }: PaymentRef): Promise<CreatedPayment> {
    const back = new URL(this.options.returnUrl);
    back.searchParams.set('payment', paymentId);
    const price_data = {
      currency: payment.currency.toLowerCase(),
      unit_amount: payment.amount,
      product_data: { name: 'Your order' },
    };
    try {
      const session = await this.#stripe.checkout.sessions.create(
        {
          mode: 'payment',
          client_reference_id: paymentId,
          metadata: { [PAYMENT]: paymentId },
          payment_intent_data: { metadata: { [PAYMENT]: paymentId } },
          line_items: [{ quantity: 1, price_data }],
          success_url: back.href,
          cancel_url: back.href,
          ...expiryOf(payment.expiresAt),
        },
        { idempotencyKey: paymentId },
      );
      return { providerPaymentId: session.id, checkoutUrl: session.url ?? back.href };
    } catch (error) {
      throw providerError('The payment provider did not open a payment', error);
    }
  }

  async findPayment(payment: PaymentRef): Promise<ProviderAnswer> {
    try {
      const id = payment.providerPaymentId ?? (await this.#findId(payment.paymentId));
      if (id === undefined) return { state: 'NOT_FOUND' };
      return stateOf(await this.#stripe.checkout.sessions.retrieve(id, { expand: [MONEY] }));
    } catch (error) {
      if (isCode(error, 'resource_missing')) return { state: 'NOT_FOUND' };
      return unknown(error);
    }
  }

  async closePayment(payment: PaymentRef): Promise<ProviderAnswer> {
    try {
      const id = payment.providerPaymentId ?? (await this.#findId(payment.paymentId));
      if (id === undefined) return { state: 'NOT_FOUND' };
      return stateOf(await this.#stripe.checkout.sessions.expire(id, { expand: [MONEY] }));
    } catch (error) {
      // Only an open session can be expired; one that was paid or has expired is a normal answer.
      return error instanceof Stripe.errors.StripeInvalidRequestError
        ? this.findPayment(payment)
        : unknown(error);
    }
  }

  async refund(request: RefundRequest): Promise<RefundAnswer> {
    const { providerPaymentId, idempotencyKey, amount } = request;
    try {
      const session = await this.#stripe.checkout.sessions.retrieve(providerPaymentId);
      const payment_intent = idOf(session.payment_intent);
      if (!payment_intent) return { state: 'UNKNOWN', why: 'the session has no payment yet' };
      // Stripe forgets idempotency keys after a day; the refund itself remembers ours for good.
      for await (const made of this.#stripe.refunds.list({ payment_intent, limit: PAGE })) {
        if (made.metadata?.[KEY] === idempotencyKey) return refundStateOf(made);
      }
      const metadata = {
        [KEY]: idempotencyKey,
        [PAYMENT]: request.paymentId,
        [SESSION]: providerPaymentId,
      };
      return refundStateOf(
        await this.#stripe.refunds.create({ payment_intent, amount, metadata }, { idempotencyKey }),
      );
    } catch (error) {
      const isRefusal =
        error instanceof Stripe.errors.StripeInvalidRequestError ||
        error instanceof Stripe.errors.StripeCardError;
      return isRefusal
        ? { state: 'FAILED', providerRefundId: null, why: error.message }
        : unknown(error);
    }
  }

  async findRefund(providerRefundId: string): Promise<RefundAnswer> {
    try {
      return refundStateOf(await this.#stripe.refunds.retrieve(providerRefundId));
    } catch (error) {
      return unknown(error);
    }
  }

  readWebhook(
    rawBody: Buffer,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    now: Date,
  ): ProviderNotice {
    const signature = headers['stripe-signature'];
    if (typeof signature !== 'string') throw badSignature('the header stripe-signature is missing');
    const event = this.#verify(rawBody, signature, now);
    return { eventId: event.id, ...noticeOf(event) };
  }

  async *ledger(since: Date): AsyncIterable<LedgerPayment> {
    const created = { gte: Math.floor(since.getTime() / 1_000) };
    try {
      const { sessions } = this.#stripe.checkout;
      const expand = [`data.${MONEY_AND_REFUNDS}`];
      for await (const session of sessions.list({ created, limit: PAGE, expand })) {
        if (isOurs(session)) yield toLedgerPayment(session);
      }
      // Refunds of payments that are older than `since`.
      for await (const refund of this.#stripe.refunds.list({ created, limit: PAGE })) {
        const id = refund.metadata?.[SESSION];
        if (!id) continue;
        const session = await sessions.retrieve(id, { expand: [MONEY_AND_REFUNDS] });
        if (session.created < created.gte) yield toLedgerPayment(session);
      }
    } catch (error) {
      throw providerError('The provider did not show its ledger', error);
    }
  }

  /** Our payment id tells when it was made (UUIDv7): only sessions of that moment are looked at. */
  async #findId(paymentId: string): Promise<string | undefined> {
    const madeAt = Math.floor(parseInt(paymentId.replaceAll('-', '').slice(0, 12), 16) / 1_000);
    const created = { gte: madeAt - LOOKUP_BEFORE_S, lte: madeAt + LOOKUP_AFTER_S };
    let lookedAt = 0;
    for await (const session of this.#stripe.checkout.sessions.list({ created, limit: PAGE })) {
      if (session.client_reference_id === paymentId) return session.id;
      if (++lookedAt >= MAX_LOOKED_AT) throw new Error('too many sessions to look at');
    }
    return undefined;
  }

  #verify(rawBody: Buffer, signature: string, now: Date): Stripe.Event {
    const { webhookSecret } = this.options;
    try {
      return this.#stripe.webhooks.constructEvent(
        rawBody,
        signature,
        webhookSecret,
        TOLERANCE_S,
        undefined,
        now.getTime(),
      );
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) {
        throw new LastcallError('invalid_request', `The webhook cannot be read: ${why}`);
      }
      if (!/tolerance/i.test(why)) throw badSignature(why);
      throw new LastcallError('stale_timestamp', 'The webhook was signed too long ago');
    }
  }
}

/** An expiry that Stripe takes; beyond a day it is left to Stripe, and to our closing. */
function expiryOf(expiresAt: Date): { expires_at?: number } {
  const atS = Math.floor(expiresAt.getTime() / 1_000) + SESSION_LIFE_S;
  return atS - Date.now() / 1_000 < LONGEST_LIFE_S ? { expires_at: atS } : {};
}

function stateOf(session: Session): ProviderAnswer {
  const providerPaymentId = session.id;
  const { status, payment_status } = session;
  if (payment_status === 'paid') {
    const money = moneyOf(session);
    if (!money) return { state: 'UNKNOWN', why: 'paid, and the charge does not tell when' };
    const isRefunded = chargeOf(session)?.refunded ?? false;
    return { state: isRefunded ? 'REFUNDED' : 'PAID', providerPaymentId, money };
  }
  if (status === 'open') return { state: 'UNPAID', providerPaymentId };
  if (status === 'expired') return { state: 'CLOSED_UNPAID', providerPaymentId };
  // Complete and not paid: a bank is taking its time, until its payment has failed for good.
  const intent = typeof session.payment_intent === 'object' ? session.payment_intent : null;
  const hasFailed = intent?.status === 'canceled' || intent?.status === 'requires_payment_method';
  return { state: hasFailed ? 'CLOSED_UNPAID' : 'IN_FLIGHT', providerPaymentId };
}

function chargeOf({ payment_intent: intent }: Session): Stripe.Charge | undefined {
  const charge = typeof intent === 'object' ? intent?.latest_charge : undefined;
  return typeof charge === 'object' && charge !== null ? charge : undefined;
}

function moneyOf(session: Session): CapturedMoney | undefined {
  const charge = chargeOf(session);
  if (session.payment_status !== 'paid' || !charge) return undefined;
  return {
    amount: charge.amount_captured,
    currency: charge.currency.toUpperCase(),
    paidAt: new Date(charge.created * 1_000),
  };
}

function refundStateOf(refund: Stripe.Refund): RefundAnswer {
  const providerRefundId = refund.id;
  if (refund.status === 'succeeded') return { state: 'SUCCEEDED', providerRefundId };
  if (refund.status !== 'failed' && refund.status !== 'canceled') {
    return { state: 'PENDING', providerRefundId };
  }
  return { state: 'FAILED', providerRefundId, why: refund.failure_reason ?? refund.status };
}

function toLedgerPayment(session: Session): LedgerPayment {
  const refunds = chargeOf(session)?.refunds?.data ?? [];
  return {
    providerPaymentId: session.id,
    paymentId: session.client_reference_id,
    captured: moneyOf(session) ?? null,
    refunds: refunds.flatMap((refund) => {
      const { state } = refundStateOf(refund);
      if (state === 'UNKNOWN') return [];
      const idempotencyKey = refund.metadata?.[KEY] ?? null;
      return [{ providerRefundId: refund.id, idempotencyKey, amount: refund.amount, state }];
    }),
  };
}

/** What an event means to us; the account may have other uses, whose events are ignored. */
function noticeOf(event: Stripe.Event): WithoutEventId<ProviderNotice> {
  const ignored = { type: 'ignored', providerType: event.type } as const;
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return isOurs(event.data.object) ? succeeded(event.data.object, event.created) : ignored;
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired': {
      const { id, client_reference_id: paymentId } = event.data.object;
      if (!isOurs(event.data.object) || !paymentId) return ignored;
      const isExpired = event.type === 'checkout.session.expired';
      const type = isExpired ? 'payment.closed' : 'payment.failed';
      return { type, paymentId, providerPaymentId: id };
    }
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
      return refundNotice(event.data.object) ?? ignored;
    default:
      return ignored;
  }
}

/** A session that is complete and not paid waits for a bank: its event comes later. */
function succeeded(session: Session, createdS: number): WithoutEventId<ProviderNotice> {
  const { id, client_reference_id: paymentId, amount_total: amount, currency } = session;
  if (session.payment_status !== 'paid' || !paymentId || amount === null || !currency) {
    return { type: 'ignored', providerType: `unpaid session ${id}` };
  }
  return {
    type: 'payment.succeeded',
    paymentId,
    providerPaymentId: id,
    money: { amount, currency: currency.toUpperCase(), paidAt: new Date(createdS * 1_000) },
  };
}

function refundNotice(refund: Stripe.Refund): WithoutEventId<ProviderNotice> | undefined {
  const { [KEY]: idempotencyKey, [PAYMENT]: paymentId, [SESSION]: session } = refund.metadata ?? {};
  const answer = refundStateOf(refund);
  const isFinal = answer.state === 'SUCCEEDED' || answer.state === 'FAILED';
  if (!idempotencyKey || !paymentId || !session || !isFinal) return undefined;
  return {
    type: answer.state === 'SUCCEEDED' ? 'refund.succeeded' : 'refund.failed',
    paymentId,
    providerPaymentId: session,
    providerRefundId: refund.id,
    idempotencyKey,
    amount: refund.amount,
    why: answer.state === 'FAILED' ? answer.why : null,
  };
}

function isOurs({ metadata, client_reference_id: reference }: Session): boolean {
  return reference !== null && isUuid(reference) && metadata?.[PAYMENT] === reference;
}

function idOf(reference: string | { id: string } | null): string | undefined {
  return typeof reference === 'string' ? reference : reference?.id;
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Stripe.errors.StripeError && error.code === code;
}

function unknown(error: unknown): { state: 'UNKNOWN'; why: string } {
  return { state: 'UNKNOWN', why: error instanceof Error ? error.message : String(error) };
}

function providerError(message: string, cause: unknown): LastcallError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new LastcallError(
    'provider_error',
    `${message}; try again in a moment`,
    { why },
    { cause },
  );
}

function badSignature(why: string): LastcallError {
  return new LastcallError('bad_signature', `The webhook is not genuine: ${why}`);
}

function hostOf(apiUrl: string | undefined): Stripe.StripeConfig {
  if (!apiUrl) return {};
  const { hostname, port, protocol } = new URL(apiUrl);
  const isPlain = protocol === 'http:';
  return {
    host: hostname,
    port: port || (isPlain ? 80 : 443),
    protocol: isPlain ? 'http' : 'https',
  };
}
