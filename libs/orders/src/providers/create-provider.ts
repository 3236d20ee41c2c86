import type { Config } from '../config';
import type { OrdersTelemetry } from '../order/telemetry';
import { GuardedProvider } from './guarded.provider';
import type { PaymentProvider } from './payment-provider';
import { SandboxProvider } from './sandbox.provider';
import { StripeProvider } from './stripe.provider';

/** One entry for each value of PAYMENT_PROVIDER; docs/providers.md says how to add one. */
const PROVIDERS: Readonly<Record<Config['PAYMENT_PROVIDER'], (config: Config) => PaymentProvider>> =
  {
    sandbox: (config) => {
      const secrets = [config.SANDBOX_WEBHOOK_SECRET, config.SANDBOX_WEBHOOK_SECRET_PREVIOUS];
      return new SandboxProvider({
        url: config.SANDBOX_URL,
        webhookSecrets: secrets.filter((secret) => secret !== undefined),
      });
    },
    // loadConfig insists on both secrets while Stripe is switched on.
    stripe: (config) =>
      new StripeProvider({
        secretKey: config.STRIPE_SECRET_KEY ?? '',
        webhookSecret: config.STRIPE_WEBHOOK_SECRET ?? '',
        apiUrl: config.STRIPE_API_URL,
        returnUrl: config.STRIPE_RETURN_URL,
      }),
  };

/** The payment provider that the settings ask for, measured and behind a circuit breaker. */
export function createProvider(config: Config, telemetry: OrdersTelemetry): PaymentProvider {
  return new GuardedProvider(PROVIDERS[config.PAYMENT_PROVIDER](config), telemetry);
}
