import CircuitBreaker from 'opossum';
import type { ZodType } from 'zod';
import { LastcallError } from '../order/errors';
import { shortened, shortenedWhy } from '../order/shortened';
import type { OrdersTelemetry } from '../order/telemetry';
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
} from './payment-provider';
import {
  assertSensible,
  CREATE_ANSWER,
  EXTEND_ANSWER,
  PAYMENT_ANSWER,
  REFUND_ANSWER,
} from './sensible-answer';
import { storable } from './storable';

/** Longer than a provider promises to take: a promise that was not kept ends here. */
const CALL_LIMIT_MS = 10_000;

/** The breaker opens when half of at least 10 calls in 10 s had no answer, and tries again in 2 s. */
const BREAKER = {
  timeout: CALL_LIMIT_MS,
  errorThresholdPercentage: 50,
  volumeThreshold: 10,
  rollingCountTimeout: 10_000,
  resetTimeout: 2_000,
};

/** An answer that says nothing, as the breaker has to hear of it: its message is why. */
class NoAnswerError extends Error {}

export interface GuardedProviderOptions {
  readonly breaker?: Partial<typeof BREAKER>;
  /** Told how each call ended, as the metric `lastcall_provider_call_seconds` is. */
  readonly onOutcome?: (outcome: string) => void;
}

type Unknown = Extract<ProviderAnswer, { state: 'UNKNOWN' }>;

/**
 * Stands before any provider: measures each call, and stops calling one that does not answer, so
 * that nobody waits for it. While the breaker is open every question is answered UNKNOWN at once,
 * which keeps fences and stock and is asked again by deadline; no payment is opened.
 */
export class GuardedProvider implements PaymentProvider {
  readonly name: string;
  readonly takesRealMoney: boolean;
  readonly #breaker: CircuitBreaker<[() => Promise<void>], void>;
  /** Why the last call that had no answer had none. */
  #why = '';

  constructor(
    private readonly provider: PaymentProvider,
    private readonly telemetry: OrdersTelemetry,
    private readonly options: GuardedProviderOptions = {},
  ) {
    this.name = provider.name;
    this.takesRealMoney = provider.takesRealMoney;
    this.#breaker = new CircuitBreaker(
      (call: () => Promise<void>) => call(),
      options.breaker ?? BREAKER,
    );
    this.#breaker.on('failure', (error) => (this.#why = error.message));
    this.#breaker.on('open', () =>
      telemetry.alert('provider_does_not_answer', { provider: this.name, why: this.#why }),
    );
  }

  planPayment(payment: NewPayment): PaymentRequest {
    return this.provider.planPayment(payment);
  }

  /** While the breaker is open nothing is sent, and that is known: NOT_MADE. */
  createPayment(payment: PaymentRef & { readonly request: PaymentRequest }): Promise<CreateAnswer> {
    const notMade: CreateAnswer = { state: 'NOT_MADE', why: `${this.name} does not answer` };
    const create = () => this.provider.createPayment(payment);
    return this.#ask('create_payment', CREATE_ANSWER, create, notMade);
  }

  findPayment(payment: PaymentRef): Promise<ProviderAnswer> {
    return this.#ask('find_payment', PAYMENT_ANSWER, () => this.provider.findPayment(payment));
  }

  closePayment(payment: PaymentRef): Promise<ProviderAnswer> {
    return this.#ask('close_payment', PAYMENT_ANSWER, () => this.provider.closePayment(payment));
  }

  extendPayment(payment: PaymentRef, moreTime: MoreTime): Promise<ExtendAnswer> {
    const extending = this.provider.extendPayment?.bind(this.provider);
    if (extending) {
      return this.#ask('extend_payment', EXTEND_ANSWER, () => extending(payment, moreTime));
    }
    return Promise.resolve({ state: 'REFUSED', why: `${this.name} moves no ends of payments` });
  }

  planRefund(money: Pick<RefundRequest, 'amount' | 'currency'>): void {
    this.provider.planRefund?.(money);
  }

  refund(request: RefundRequest): Promise<RefundAnswer> {
    return this.#ask('refund', REFUND_ANSWER, () => this.provider.refund(request));
  }

  findRefund(providerRefundId: string): Promise<RefundAnswer> {
    return this.#ask('find_refund', REFUND_ANSWER, () =>
      this.provider.findRefund(providerRefundId),
    );
  }

  readWebhook(
    rawBody: Buffer,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    now: Date,
  ): ProviderNotice | Promise<ProviderNotice> {
    return this.provider.readWebhook(rawBody, headers, now);
  }

  /** Not behind the breaker: it is long, rare, and nobody waits for it. */
  ledger(since: Date, from: string | null): AsyncIterable<LedgerPage> {
    return this.provider.ledger(since, from);
  }

  takes(currency: string): boolean {
    return this.provider.takes(currency);
  }

  async examine(): Promise<readonly ProviderFinding[]> {
    return (await this.provider.examine?.()) ?? [];
  }

  async #ask<Answer extends { readonly state: string; readonly why?: string }>(
    operation: string,
    rules: ZodType,
    call: () => Promise<Answer>,
    notCalled?: Answer,
  ): Promise<Answer | Unknown> {
    const got: { answer?: Answer } = {};
    const error = await this.#fire(operation, async () => {
      const answer = await call();
      assertSensible(rules, answer);
      got.answer = storable(shortenedWhy(answer));
      const { state, why } = answer;
      // A refusal is an answer: however many there are, the provider is well.
      if (state === 'UNKNOWN' || state === 'NOT_MADE') throw new NoAnswerError(why);
      return state.toLowerCase();
    });
    // What came after the limit is no answer: it may be older than one that came since.
    if (got.answer && (!error || error instanceof NoAnswerError)) return got.answer;
    const wasAsked = outcomeOf(error) !== 'not_called';
    if (!wasAsked && notCalled) return notCalled;
    const said = error instanceof Error ? error.message : String(error);
    const why = wasAsked ? said : `not asked, as it does not answer: ${this.#why}`;
    return { state: 'UNKNOWN', why: storable(shortened(why)) };
  }

  /** Resolves with the error, if there was one; it never rejects. */
  async #fire(operation: string, call: () => Promise<string>): Promise<unknown> {
    const startedMs = performance.now();
    let outcome = 'unknown';
    let failure: unknown;
    try {
      await this.#breaker.fire(async () => {
        outcome = await call();
      });
    } catch (error) {
      failure = error;
      outcome = outcomeOf(error);
      // Providers reject for bugs alone, and those must be seen.
      if (outcome === 'bug') this.telemetry.failed(`provider ${operation}`, error);
    }
    const tookMs = performance.now() - startedMs;
    this.telemetry.providerCall({ provider: this.name, operation, outcome, tookMs });
    this.options.onOutcome?.(outcome);
    return failure;
  }
}

function outcomeOf(error: unknown): string {
  if (error instanceof NoAnswerError) return 'unknown';
  if (error instanceof LastcallError) return 'error';
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  if (code === 'EOPENBREAKER') return 'not_called';
  return code === 'ETIMEDOUT' ? 'timeout' : 'bug';
}
