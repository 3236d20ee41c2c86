import { type Config, isProviderName, type ProviderName } from '../config';
import type { OrdersTelemetry } from '../order/telemetry';
import { GuardedProvider, type GuardedProviderOptions } from './guarded.provider';
import type { PaymentProvider } from './payment-provider';
import { PaymentProviders } from './payment-providers';
import { SandboxProvider } from './sandbox/sandbox.provider';
import { HostsProvider, SwitchedOffProvider } from './switched-off.provider';

type StripeModule = typeof import('./stripe/stripe.provider');

/** One entry for each value that PAYMENT_PROVIDERS may have in an environment; docs/providers.md says how to add one. */
const PROVIDERS: Readonly<
  Record<ProviderName, (config: Config, installation: string) => PaymentProvider>
> = {
  sandbox: (config) => {
    const secrets = [config.SANDBOX_WEBHOOK_SECRET, config.SANDBOX_WEBHOOK_SECRET_PREVIOUS];
    return new SandboxProvider({
      url: config.SANDBOX_URL,
      webhookSecrets: secrets.filter((secret) => secret !== undefined),
    });
  },
  // Without its secrets it is not made: see below.
  stripe: (config, installation) => {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is switched on: hosts without it have no such package
    const { StripeProvider } = require('./stripe/stripe.provider') as StripeModule;
    return new StripeProvider({
      secretKey: config.STRIPE_SECRET_KEY ?? '',
      webhookSecret: config.STRIPE_WEBHOOK_SECRET ?? '',
      apiUrl: config.STRIPE_API_URL,
      returnUrl: config.STRIPE_RETURN_URL,
      offersAsyncMethods: config.STRIPE_ASYNC_METHODS,
      installation,
    });
  },
};

/** Providers of a host's own, guarded as those are that we bring along. */
export function guardProviders(
  [first, ...others]: readonly [PaymentProvider, ...PaymentProvider[]],
  telemetry: OrdersTelemetry,
  options: GuardedProviderOptions,
): PaymentProviders {
  const guard = (one: PaymentProvider) => new GuardedProvider(one, telemetry, options);
  return new PaymentProviders([guard(first), ...others.map(guard)]);
}

const SECRETS = {
  sandbox: ['SANDBOX_WEBHOOK_SECRET'],
  stripe: ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'],
} as const satisfies Record<ProviderName, readonly (keyof Config)[]>;

/** Injection token: names of the providers that a host's processes bring themselves, in a command beside them. */
export const PROVIDERS_ELSEWHERE = Symbol('ProvidersElsewhere');

export interface CreateProvidersOptions extends GuardedProviderOptions {
  readonly installation: string;
  readonly elsewhere: readonly string[];
}

/** The providers that the settings ask for, each measured and behind a circuit breaker of its own. */
export function createProviders(
  config: Config,
  telemetry: OrdersTelemetry,
  { installation, elsewhere, ...options }: CreateProvidersOptions,
): PaymentProviders {
  const [first, ...others] = config.PAYMENT_PROVIDERS;
  const create = (name: string): PaymentProvider => {
    // One of our own names, too, is asked where and as the host says.
    if (!isProviderName(name) || elsewhere.includes(name)) return new HostsProvider(name);
    const missing = SECRETS[name].find((secret) => config[secret] === undefined);
    // A command that asks no provider is given no secrets (loadConfigFor); a process has them all.
    if (missing) return new SwitchedOffProvider(name, `${missing} is not set here`);
    return new GuardedProvider(PROVIDERS[name](config, installation), telemetry, options);
  };
  return new PaymentProviders([create(first), ...others.map(create)]);
}
