import { Logger } from '@nestjs/common';
import { isContention } from '../database/database-errors';
import { silentTelemetry, type TimeoutTelemetry } from '../telemetry';
import { toldSeldom } from '../told-seldom';
import { messageOf, stackOf, subjectOf, whyFailed } from './why-failed';

/** What somebody holds is looked at every few seconds, for as long as it is held. */
const HELD_TOLD_EVERY_MS = 60_000;

/**
 * Nest's logger hears of what somebody has to look at.
 * @param uptimeMs a monotonic clock
 */
export function loggedTelemetry(uptimeMs = () => performance.now()): TimeoutTelemetry {
  const logger = new Logger('Timeouts');
  const heldToldAtMs = new Map<string, number>();
  const tellOfHeld = (kind: string, size: number): void => {
    const nowMs = uptimeMs();
    if (nowMs - (heldToldAtMs.get(kind) ?? -Infinity) < HELD_TOLD_EVERY_MS) return;
    heldToldAtMs.set(kind, nowMs);
    logger.warn(
      `Deadlines of kind "${kind}" (${size}) need rows that somebody holds: tried again until these are free, told of once a minute`,
    );
  };
  const tellOfFailed = toldSeldom((text) => logger.warn(text), uptimeMs);
  const toldOf = new Map<string, string>();
  /** Batches of a kind that fail in one place are many: the way there is told once. */
  const whyAgain = (kind: string, error: unknown): string => {
    const stack = stackOf(error);
    const [place = ''] = /^ +at .+$/m.exec(stack ?? '') ?? [];
    if (stack === undefined || toldOf.get(kind) === place) return messageOf(error);
    toldOf.set(kind, place);
    return stack;
  };
  const named = (error: unknown): string => {
    const subject = subjectOf(error);
    return subject === undefined ? '' : `, as that of ${JSON.stringify(subject)}`;
  };
  return {
    ...silentTelemetry,
    unknownKinds: (kinds) =>
      kinds.forEach((kind) =>
        logger.warn(
          `Deadlines of kind "${kind}" wait, and nobody here handles them: mark a provider with ` +
            `@DeadlineHandler("${kind}"), unless another service does`,
        ),
      ),
    batchFailed: (kind, size, error) => {
      if (isContention(error)) return tellOfHeld(kind, size);
      logger.warn(
        `${size} of kind "${kind}" failed and are tried again${named(error)}: ${whyAgain(kind, error)}`,
      );
    },
    deadlineHeld: (kind, subjectId, error) =>
      logger.error(`"${kind}" of ${subjectId} failed too often and is held: ${whyFailed(error)}`),
    handlerFails: (kind, error) =>
      logger.error(
        `Handling "${kind}" fails for all and stands still but for probes${named(error)}: ${whyFailed(error)}`,
      ),
    handlerWorks: (kind) => logger.log(`Handling "${kind}" works again`),
    timerStore: (state, reason) =>
      state === 'unhealthy'
        ? logger.warn(`The timer's store is unhealthy: ${whyFailed(reason)}`)
        : logger.log("The timer's store is well again"),
    failed: (what, error) => tellOfFailed(`${what}: ${whyFailed(error)}`),
  };
}
