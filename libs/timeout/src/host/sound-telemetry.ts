import { Logger } from '@nestjs/common';
import { silentTelemetry, type TimeoutTelemetry } from '../telemetry';
import { unattended } from '../unattended';

/** A host's: it may leave out what it does not want to hear. */
export type HostTelemetry = Pick<TimeoutTelemetry, 'failed'> & Partial<TimeoutTelemetry>;

/**
 * A host's telemetry as it may be called from anywhere: whole, and where it throws, or rejects,
 * deadlines and the process go on. That is said once a method: some are called with every batch.
 */
export function soundTelemetry(given: HostTelemetry): TimeoutTelemetry {
  const logger = new Logger('Timeouts');
  const failing = new Set<string>();
  const failed = (name: string, error: unknown): void => {
    if (failing.has(name)) return;
    failing.add(name);
    const why = error instanceof Error ? error.message : String(error);
    logger.warn(`telemetry.${name} fails, which is said once: ${why}`);
  };
  const methods = given as Partial<Record<string, (...args: unknown[]) => unknown>>;
  const sound =
    (name: string) =>
    (...args: unknown[]) =>
      void unattended(
        () => methods[name]?.(...args),
        (error) => failed(name, error),
      );
  const names = Object.keys(silentTelemetry);
  return Object.fromEntries(
    names.map((name) => [name, sound(name)]),
  ) as unknown as TimeoutTelemetry;
}
