import { LastcallError } from '../order/errors';
import { decimalsOf } from './currencies';
import type { LedgerPage, PaymentProvider } from './payment-provider';
import { isTakenByStripe, planStripeRefund } from './stripe/stripe-currency';

type Rules = Partial<Pick<PaymentProvider, 'takes' | 'planRefund'>>;

/** What those that we bring along refuse for certain: that needs no secret, and asks nobody. */
const RULES: Readonly<Partial<Record<string, Rules>>> = {
  stripe: { takes: isTakenByStripe, planRefund: planStripeRefund },
};

/**
 * Stands in for a provider that payments belong to and that is not switched on, or whose secrets a
 * command was not given: nothing is known of them, and nothing is decided; what it would refuse for
 * certain is refused all the same. Boot and doctor refuse to let it come to a provider that is
 * switched off (stranded-work.ts).
 */
export class SwitchedOffProvider implements PaymentProvider {
  readonly takesRealMoney = false;
  readonly #answer: { readonly state: 'UNKNOWN'; readonly why: string };

  constructor(
    readonly name: string,
    /** Why it cannot be asked here. */
    readonly why = `the provider ${name} is switched off; add it to PAYMENT_PROVIDERS`,
    private readonly rules: Rules = RULES[name] ?? {},
  ) {
    this.#answer = { state: 'UNKNOWN', why };
  }

  createPayment = () => Promise.resolve({ ...this.#answer, state: 'NOT_MADE' as const });
  findPayment = () => Promise.resolve(this.#answer);
  closePayment = () => Promise.resolve(this.#answer);
  extendPayment = () => Promise.resolve(this.#answer);
  refund = () => Promise.resolve(this.#answer);
  findRefund = () => Promise.resolve(this.#answer);

  /** Of a provider without rules what money can be charged in at all: more is known where it is. */
  takes(currency: string): boolean {
    return this.rules.takes?.(currency) ?? decimalsOf(currency) !== undefined;
  }

  planRefund(money: Parameters<NonNullable<Rules['planRefund']>>[0]): void {
    this.rules.planRefund?.(money);
  }

  planPayment(): never {
    throw this.#error();
  }

  readWebhook(): never {
    throw this.#error();
  }

  // eslint-disable-next-line require-yield -- there is no ledger to read
  async *ledger(): AsyncIterable<LedgerPage> {
    throw this.#error();
  }

  #error(): LastcallError {
    return new LastcallError('provider_error', this.#answer.why);
  }
}

/**
 * Stands in for a provider of a host's own in a command, which has not the host's code: nor does it know what
 * that one refuses, whatever its name.
 */
export class HostsProvider extends SwitchedOffProvider {
  constructor(name: string) {
    super(name, "a provider of the host's own: only the processes have it", {});
  }
}
