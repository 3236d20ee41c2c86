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
import { isOfSameRefund } from '../refund-key';
import { isTakenByStripe, planStripeRefund, toStripeAmount } from './stripe-currency';
import { examineEndpoint } from './stripe-endpoint';
import { isMissing, isRefused, providerError, unknown } from './stripe-errors';
import { stripeHttpClient } from './stripe-http';
import { idOf, StripeLedger } from './stripe-ledger';
import { INSTALLATION, KEY, MONEY, PAYMENT, SESSION } from './stripe-names';
import { noticeOf } from './stripe-notice';
import { verifyEvent } from './stripe-webhook';
import { planSession, type SessionRequest, sessionEndsAt } from './stripe-request';
import { RETRIES, StripeSessions } from './stripe-sessions';
import { refundStateOf, stateOf } from './stripe-session';

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
  readonly offersAsyncMethods?: boolean | undefined;
}

/** Two tries of this length and the pause between them are the few seconds a call may take. */
const CALL_LIMIT_MS = 4_000;
const PAGE = 100;

/** Stripe Checkout: a payment is a Checkout Session that carries our payment id. */
export class StripeProvider implements PaymentProvider {
  readonly name = 'stripe';
  readonly takesRealMoney: boolean;
  readonly #stripe: Stripe;
  readonly #sessions: StripeSessions;
  readonly #ledger: StripeLedger;

  constructor(private readonly options: StripeProviderOptions) {
    // sk_test_ and rk_test_ charge nobody; Stripe's own reference names the prefixes.
    this.takesRealMoney = !/^[a-z]+_test_/.test(options.secretKey);
    this.#stripe = new Stripe(options.secretKey, {
      ...hostOf(options.apiUrl),
      httpClient: stripeHttpClient(),
      timeout: CALL_LIMIT_MS,
      maxNetworkRetries: RETRIES,
      telemetry: false,
    });
    this.#sessions = new StripeSessions(this.#stripe, options.returnUrl);
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
    const { answer } = await this.#sessions.create(paymentId, request as SessionRequest);
    return answer;
  }

  async findPayment(payment: PaymentRef): Promise<ProviderAnswer> {
    const found = await this.#sessions.identify(payment);
    if ('state' in found) return found;
    try {
      const session = await this.#stripe.checkout.sessions.retrieve(found.id, { expand: [MONEY] });
      return stateOf(session);
    } catch (error) {
      return isMissing(error) ? { state: 'NOT_FOUND' } : unknown(error);
    }
  }

  async closePayment(payment: PaymentRef): Promise<ProviderAnswer> {
    const found = await this.#sessions.identify(payment);
    return 'state' in found ? found : this.#sessions.expire(found.id);
  }

  /** Stripe moves no ends of sessions: but ours live half an hour longer than their orders. */
  extendPayment({ request }: PaymentRef, { expiresAt }: MoreTime): Promise<ExtendAnswer> {
    const endsAtMs = request ? sessionEndsAt(request as SessionRequest) * 1_000 : 0;
    if (expiresAt.getTime() <= endsAtMs) return Promise.resolve({ state: 'EXTENDED', expiresAt });
    const why = 'Stripe ends the session before; the buyer opens another one then';
    return Promise.resolve({ state: 'REFUSED', why });
  }

  planRefund(money: Pick<RefundRequest, 'amount' | 'currency'>): void {
    planStripeRefund(money);
  }

  async refund(request: RefundRequest): Promise<RefundAnswer> {
    const { providerPaymentId, idempotencyKey, currency } = request;
    const found = await this.#findRefundOf(request).catch(unknown);
    if ('state' in found) return found;
    const { payment_intent } = found;
    const metadata = {
      [KEY]: idempotencyKey,
      [PAYMENT]: request.paymentId,
      [SESSION]: providerPaymentId,
      [INSTALLATION]: this.options.installation,
    };
    try {
      const amount = toStripeAmount(request.amount, currency, { isRefund: true });
      return refundStateOf(
        await this.#stripe.refunds.create({ payment_intent, amount, metadata }, { idempotencyKey }),
      );
    } catch (error) {
      const isForGood = error instanceof LastcallError;
      if (!isForGood && !isRefused(error)) return unknown(error);
      const failed = { state: 'FAILED', providerRefundId: null, why: error.message } as const;
      return isForGood ? { ...failed, isForGood } : failed;
    }
  }

  /**
   * The refund that was made, or else of which payment intent it has to be. Stripe forgets idempotency keys after a
   * day; the refund itself remembers ours for good. One that another attempt has made, and that has not
   * failed, is the same money.
   */
  async #findRefundOf({
    providerPaymentId,
    idempotencyKey,
  }: RefundRequest): Promise<RefundAnswer | { readonly payment_intent: string }> {
    const session = await this.#stripe.checkout.sessions.retrieve(providerPaymentId);
    const payment_intent = idOf(session.payment_intent);
    if (!payment_intent) return { state: 'UNKNOWN', why: 'the session has no payment yet' };
    let failed: RefundAnswer | undefined;
    for await (const made of this.#stripe.refunds.list({ payment_intent, limit: PAGE })) {
      const key = made.metadata?.[KEY];
      if (key === undefined || !isOfSameRefund(key, idempotencyKey)) continue;
      const answer = refundStateOf(made);
      if (answer.state !== 'FAILED') return answer;
      if (key === idempotencyKey) failed = answer;
    }
    return failed ?? { payment_intent };
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
    const { id: eventId, type: providerType } = event;
    if (this.#isOfOthers(event)) return { eventId, type: 'ignored', providerType };
    const notice = noticeOf(event, installation, (intent) =>
      this.#sessions.ofIntent(intent).catch((error: unknown) => {
        throw providerError('The provider did not say what the event is about', error);
      }),
    );
    const withId = (known: Awaited<typeof notice>): ProviderNotice => ({ eventId, ...known });
    return notice instanceof Promise ? notice.then(withId) : withId(notice);
  }

  /**
   * An endpoint may hear of accounts that are connected to ours (docs.stripe.com/connect/webhooks), in both modes:
   * their money is not ours, and a test card's is nobody's.
   */
  #isOfOthers({ account, livemode }: Stripe.Event): boolean {
    return Boolean(account) || (this.takesRealMoney && !livemode);
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
