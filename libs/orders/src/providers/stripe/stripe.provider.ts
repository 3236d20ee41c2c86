import Stripe from 'stripe';
import { LastcallError } from '../../order/errors';
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
  ProviderFinding,
  ProviderNotice,
  RefundAnswer,
  RefundRequest,
} from '../payment-provider';
import { isTakenByStripe, toStripeAmount } from './stripe-currency';
import { examineEndpoint } from './stripe-endpoint';
import {
  failureOf,
  isMissing,
  isRefused,
  isReplayed,
  isStoredFailure,
  providerError,
  unknown,
} from './stripe-errors';
import { idOf, StripeLedger } from './stripe-ledger';
import { INSTALLATION, KEY, MONEY, PAYMENT, SESSION } from './stripe-names';
import { noticeOf } from './stripe-notice';
import { verifyEvent } from './stripe-webhook';
import { planSession, type SessionRequest, sessionEndsAt } from './stripe-request';
import { refundStateOf, type Session, stateOf } from './stripe-session';

export interface StripeProviderOptions {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** Another host than Stripe's own, for tests. */
  readonly apiUrl?: string | undefined;
  /** Where the buyer goes from Stripe's page; `payment` is added to its query. */
  readonly returnUrl: string;
  /** Who we are, where several installations share an account. */
  readonly installation: string;
  /** True: also payment methods whose money comes days after the window has ended. */
  readonly offersAsyncMethods?: boolean;
}

/** Two tries of this length and the pause between them are the few seconds a call may take. */
const CALL_LIMIT_MS = 4_000;
const RETRIES = 1;
/** Stripe forgets idempotency keys after a day at the earliest; an hour is for clocks that differ. */
const KEY_LIFE_S = 23 * 3_600;
const CLOCK_SKEW_S = 300;
const PAGE = 100;

/** Stripe Checkout: a payment is a Checkout Session that carries our payment id. */
export class StripeProvider implements PaymentProvider {
  readonly name = 'stripe';
  readonly takesRealMoney: boolean;
  readonly #stripe: Stripe;
  readonly #ledger: StripeLedger;

  constructor(private readonly options: StripeProviderOptions) {
    // sk_test_ and rk_test_ charge nobody; Stripe's own reference names the prefixes.
    this.takesRealMoney = !/^[a-z]+_test_/.test(options.secretKey);
    this.#stripe = new Stripe(options.secretKey, {
      ...hostOf(options.apiUrl),
      timeout: CALL_LIMIT_MS,
      maxNetworkRetries: RETRIES,
      telemetry: false,
    });
    this.#ledger = new StripeLedger(this.#stripe, options.installation);
  }

  takes(currency: string): boolean {
    return isTakenByStripe(currency);
  }

  planPayment(payment: NewPayment): PaymentRequest {
    const { offersAsyncMethods = false } = this.options;
    return planSession(payment, { ...this.options, offersAsyncMethods });
  }

  async createPayment({
    paymentId,
    request,
  }: PaymentRef & { readonly request: PaymentRequest }): Promise<CreateAnswer> {
    const { answer } = await this.#create(paymentId, request as SessionRequest);
    return answer;
  }

  async findPayment(payment: PaymentRef): Promise<ProviderAnswer> {
    const found = await this.#identify(payment);
    if ('state' in found) return found;
    try {
      const session = await this.#stripe.checkout.sessions.retrieve(found.id, { expand: [MONEY] });
      return stateOf(session);
    } catch (error) {
      return isMissing(error) ? { state: 'NOT_FOUND' } : unknown(error);
    }
  }

  async closePayment(payment: PaymentRef): Promise<ProviderAnswer> {
    const found = await this.#identify(payment);
    return 'state' in found ? found : this.#expire(found.id);
  }

  /** Stripe moves no ends of sessions: but ours live half an hour longer than their orders. */
  extendPayment({ request }: PaymentRef, { expiresAt }: MoreTime): Promise<ExtendAnswer> {
    const endsAtMs = request ? sessionEndsAt(request as SessionRequest) * 1_000 : 0;
    if (expiresAt.getTime() <= endsAtMs) return Promise.resolve({ state: 'EXTENDED', expiresAt });
    const why = 'Stripe ends the session before; the buyer opens another one then';
    return Promise.resolve({ state: 'REFUSED', why });
  }

  async refund(request: RefundRequest): Promise<RefundAnswer> {
    const { providerPaymentId, idempotencyKey, currency } = request;
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
        [INSTALLATION]: this.options.installation,
      };
      const amount = toStripeAmount(request.amount, currency, { isRefund: true });
      return refundStateOf(
        await this.#stripe.refunds.create({ payment_intent, amount, metadata }, { idempotencyKey }),
      );
    } catch (error) {
      const isFinal = isRefused(error) || error instanceof LastcallError;
      return isFinal
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
  ): ProviderNotice | Promise<ProviderNotice> {
    const { webhookSecret, installation } = this.options;
    const signature = headers['stripe-signature'];
    const event = verifyEvent(this.#stripe, { rawBody, signature, secret: webhookSecret }, now);
    const notice = noticeOf(event, installation, (intent) =>
      this.#sessionOf(intent).catch((error: unknown) => {
        throw providerError('The provider did not say what the event is about', error);
      }),
    );
    const withId = (known: Awaited<typeof notice>): ProviderNotice => ({
      eventId: event.id,
      ...known,
    });
    return notice instanceof Promise ? notice.then(withId) : withId(notice);
  }

  async *ledger(since: Date, from: string | null): AsyncIterable<LedgerPage> {
    try {
      yield* this.#ledger.pages(since, from);
    } catch (error) {
      throw providerError('The provider did not show its ledger', error);
    }
  }

  examine(): Promise<readonly ProviderFinding[]> {
    return examineEndpoint(this.#stripe);
  }

  /**
   * Twice at most, so that a blip fails no customer, and not by the SDK: it would also wait for the
   * same answer when Stripe says that this is the one it keeps.
   */
  async #create(
    paymentId: string,
    request: SessionRequest,
  ): Promise<{ answer: CreateAnswer; isReplayed?: boolean; error?: unknown }> {
    for (let attempt = 0; ; attempt++) {
      try {
        const session = await this.#stripe.checkout.sessions.create(
          { ...request.params },
          { idempotencyKey: paymentId, maxNetworkRetries: 0 },
        );
        const checkoutUrl = session.url ?? request.params.success_url ?? this.options.returnUrl;
        return {
          answer: { state: 'CREATED', providerPaymentId: session.id, checkoutUrl },
          isReplayed: isReplayed(session.lastResponse.headers),
        };
      } catch (error) {
        const failure = failureOf(error);
        const isOver = failure.state !== 'UNKNOWN' || attempt === RETRIES;
        if (isOver || isStoredFailure(error)) return { answer: failure, error };
      }
    }
  }

  /** The session of a payment; one whose id never reached us by repeating the call that makes it. */
  async #identify({
    paymentId,
    providerPaymentId,
    request,
  }: PaymentRef): Promise<{ id: string } | ProviderAnswer> {
    if (providerPaymentId) return { id: providerPaymentId };
    if (!request) return { state: 'NOT_FOUND' };
    const planned = request as SessionRequest;
    const nowS = Date.now() / 1_000;
    // Nobody was shown its page, and if there was a session it has ended by itself.
    if (nowS - planned.plannedAt > KEY_LIFE_S) return { state: 'NOT_FOUND' };
    const { answer, isReplayed, error } = await this.#create(paymentId, planned);
    switch (answer.state) {
      case 'CREATED':
        // Made by us just now, for nobody.
        if (!isReplayed) return this.#expire(answer.providerPaymentId);
        return { id: answer.providerPaymentId };
      case 'REFUSED':
        return { state: 'NEVER_MADE', why: answer.why };
      default: {
        const hasEnded = nowS > sessionEndsAt(planned) + CLOCK_SKEW_S;
        if (hasEnded && isStoredFailure(error)) return { state: 'NOT_FOUND' };
        return { state: 'UNKNOWN', why: answer.why };
      }
    }
  }

  /** A payment intent of Checkout has one session. */
  async #sessionOf(payment_intent: string): Promise<Session | undefined> {
    const { data } = await this.#stripe.checkout.sessions.list({ payment_intent });
    return data[0];
  }

  async #expire(id: string): Promise<ProviderAnswer> {
    const { sessions } = this.#stripe.checkout;
    try {
      return stateOf(await sessions.expire(id, { expand: [MONEY] }));
    } catch (error) {
      if (!isRefused(error)) return unknown(error);
    }
    // Only an open session can be expired; one that was paid or has expired is a normal answer.
    try {
      return stateOf(await sessions.retrieve(id, { expand: [MONEY] }));
    } catch (error) {
      return isMissing(error) ? { state: 'NOT_FOUND' } : unknown(error);
    }
  }
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
