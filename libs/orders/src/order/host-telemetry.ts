import { soundTelemetry, toldSeldom } from '@app/timeout';
import { Logger } from '@nestjs/common';
import { type HostOrdersTelemetry, type OrdersTelemetry, silentOrdersTelemetry } from './telemetry';

const NAME = 'Orders';

/** What a host gives, whole and guarded against its failing; Nest's logger hears of it where it gives none. */
export function hostTelemetry(given: HostOrdersTelemetry = loggedTelemetry()): OrdersTelemetry {
  const called: OrdersTelemetry = given.closedMany
    ? { ...silentOrdersTelemetry, closedMany: () => undefined }
    : silentOrdersTelemetry;
  return soundTelemetry(given, called, NAME);
}

/** Nest's logger hears of what fails and of alerts: for hosts that give no telemetry of their own. */
function loggedTelemetry(): OrdersTelemetry {
  const logger = new Logger(NAME);
  const why = (error: unknown): string => (error instanceof Error ? error.message : String(error));
  const tellOfFailed = toldSeldom((text) => logger.warn(text));
  return {
    ...silentOrdersTelemetry,
    failed: (what, error) => tellOfFailed(`${what}: ${why(error)}`),
    handlerFails: (kind, error) => logger.error(`Handling "${kind}" fails: ${why(error)}`),
    deadlineHeld: (kind, id, error) => logger.error(`"${kind}" of ${id} is held: ${why(error)}`),
    alert: (what, fields) => logger.error(`${what} ${JSON.stringify(fields)}`),
  };
}
