import { silentTelemetry } from '@app/timeout';
import { Logger } from '@nestjs/common';
import type { OrdersTelemetry } from './telemetry';

/** Nest's logger hears of what fails and of alerts: for hosts that give no telemetry of their own. */
export function loggedTelemetry(): OrdersTelemetry {
  const logger = new Logger('Orders');
  const ignore = (): void => undefined;
  const why = (error: unknown): string => (error instanceof Error ? error.message : String(error));
  return {
    ...silentTelemetry,
    ...{ transitions: ignore, closed: ignore, race: ignore, webhook: ignore },
    ...{ providerCall: ignore, delivered: ignore, sealed: ignore },
    failed: (what, error) => logger.warn(`${what}: ${why(error)}`),
    handlerFails: (kind, error) => logger.error(`Handling "${kind}" fails: ${why(error)}`),
    deadlineHeld: (kind, id, error) => logger.error(`"${kind}" of ${id} is held: ${why(error)}`),
    alert: (what, fields) => logger.error(`${what} ${JSON.stringify(fields)}`),
  };
}
