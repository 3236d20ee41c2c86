import { Logger } from '@nestjs/common';
import type { TimeoutTelemetry } from '../telemetry';
import { unattended } from '../database/unattended';
import { messageOf } from './why-failed';

/** A host's: it may leave out what it does not want to hear. */
export type HostTelemetry = Pick<TimeoutTelemetry, 'failed'> & Partial<TimeoutTelemetry>;

/**
 * A host's telemetry as it may be called from anywhere: whole, and where it throws, or rejects,
 * deadlines and the process go on. That is said once a method: some are called with every batch.
 * @param silent has all the methods that are called
 * @param name of the logger that is told
 */
export function soundTelemetry<Whole extends object>(
  given: Partial<Whole>,
  silent: Whole,
  name: string,
): Whole {
  const logger = new Logger(name);
  const failing = new Set<string>();
  const failed = (method: string, error: unknown): void => {
    if (failing.has(method)) return;
    failing.add(method);
    logger.warn(`telemetry.${method} fails, which is said once: ${messageOf(error)}`);
  };
  const methods = given as Partial<Record<string, (...args: unknown[]) => unknown>>;
  const sound =
    (method: string) =>
    (...args: unknown[]) =>
      void unattended(
        () => methods[method]?.(...args),
        (error) => failed(method, error),
      );
  return Object.fromEntries(
    Object.keys(silent).map((method) => [method, sound(method)]),
  ) as unknown as Whole;
}
