import type { OrdersTelemetry } from '@app/orders';
import { silentTelemetry } from '@app/timeout';

const ignore = (): void => undefined;

/** Reports nothing to nobody. */
export const silentOrdersTelemetry: OrdersTelemetry = {
  ...silentTelemetry,
  transitions: ignore,
  closed: ignore,
  race: ignore,
  webhook: ignore,
  alert: ignore,
  sealed: ignore,
  providerCall: ignore,
  delivered: ignore,
};
