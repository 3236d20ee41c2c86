import { Logger } from '@nestjs/common';
import { silentTelemetry, type TimeoutTelemetry } from '../telemetry';

/** Nest's logger hears of what somebody has to look at. */
export function loggedTelemetry(): TimeoutTelemetry {
  const logger = new Logger('Timeouts');
  const why = (error: unknown): string => (error instanceof Error ? error.message : String(error));
  return {
    ...silentTelemetry,
    unknownKinds: (kinds) =>
      kinds.forEach((kind) =>
        logger.warn(
          `Deadlines of kind "${kind}" wait, and nobody here handles them: mark a provider with ` +
            `@DeadlineHandler("${kind}"), unless another service does`,
        ),
      ),
    batchFailed: (kind, size, error) =>
      logger.warn(`${size} of kind "${kind}" failed and are tried again: ${why(error)}`),
    deadlineHeld: (kind, subjectId, error) =>
      logger.error(`"${kind}" of ${subjectId} failed too often and is held: ${why(error)}`),
    handlerFails: (kind, error) =>
      logger.error(
        `Handling "${kind}" fails for all and stands still but for probes: ${why(error)}`,
      ),
    handlerWorks: (kind) => logger.log(`Handling "${kind}" works again`),
    timerStore: (state, reason) =>
      state === 'unhealthy' && logger.warn(`The timer's store is unhealthy: ${why(reason)}`),
    failed: (what, error) => logger.warn(`${what}: ${why(error)}`),
  };
}
