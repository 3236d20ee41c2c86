import { LastcallError } from '../order/errors';
import type { PaymentProvider } from './payment-provider';
import { SwitchedOffProvider } from './switched-off.provider';

/**
 * The providers that are switched on, by name. A payment belongs to one of them for good: whatever
 * is asked about it is asked there ({@link of}), however the settings have changed since.
 */
export class PaymentProviders {
  readonly #byName: ReadonlyMap<string, PaymentProvider>;

  /** The first takes new payments, unless another one is chosen. */
  constructor(readonly all: readonly [PaymentProvider, ...PaymentProvider[]]) {
    this.#byName = new Map(all.map((provider) => [provider.name, provider]));
  }

  get names(): readonly string[] {
    return this.all.map(({ name }) => name);
  }

  /** The one of this name, if it is switched on. */
  find(name: string): PaymentProvider | undefined {
    return this.#byName.get(name);
  }

  /** A payment's own provider; one that is switched off answers nothing, and calls nobody. */
  of(name: string): PaymentProvider {
    return this.find(name) ?? new SwitchedOffProvider(name);
  }

  /**
   * Who takes a new payment. Where money is real, a buyer cannot choose to pay with play money.
   * @throws {LastcallError} provider_not_available
   */
  choose(name: string | undefined): PaymentProvider {
    const [first] = this.all;
    if (name === undefined) return first;
    const chosen = this.find(name);
    if (chosen && (chosen.takesRealMoney || !first.takesRealMoney)) return chosen;
    const offered = this.all.filter((one) => one.takesRealMoney || !first.takesRealMoney);
    const names = offered.map((one) => one.name);
    throw new LastcallError(
      'provider_not_available',
      `The provider "${name}" takes no payments here; choose one of: ${names.join(', ')}`,
      { providers: names },
    );
  }
}
