import type { Config } from '../config';
import type { OrdersTelemetry } from '../telemetry';
import type { PaymentProvider } from './payment-provider';
import { SandboxProvider } from './sandbox.provider';

/** The payment provider that the settings ask for. */
export function createProvider(config: Config, _telemetry: OrdersTelemetry): PaymentProvider {
  const secrets = [config.SANDBOX_WEBHOOK_SECRET, config.SANDBOX_WEBHOOK_SECRET_PREVIOUS];
  return new SandboxProvider({
    url: config.SANDBOX_URL,
    webhookSecrets: secrets.filter((secret) => secret !== undefined),
  });
}
