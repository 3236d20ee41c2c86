import type { OrdersTelemetry } from '@app/orders';
import { reasonOf } from '@app/orders/look';
import { silentTelemetry } from '@app/timeout';
import { printable } from './text/printable';

/** Says what an operator should know, once each; the figures are the worker's to keep. */
export function quietTelemetry(note: (line: string) => void): OrdersTelemetry {
  const said = new Set<string>();
  const once = (line: string): void => {
    if (said.has(line)) return;
    said.add(line);
    // One line, whatever a provider's message has in it.
    note(`warning: ${printable(line)}`);
  };
  const ignore = (): void => undefined;
  return {
    ...silentTelemetry,
    transitions: ignore,
    closed: ignore,
    race: ignore,
    webhook: ignore,
    providerCall: ignore,
    sealed: ignore,
    delivered: ignore,
    failed: (what, error) => once(`${what}: ${reasonOf(error)}`),
    alert: (what, fields) => once(`${what} ${JSON.stringify(fields)}`),
    unknownKinds: (kinds) =>
      once(
        `deadlines of kinds that this version does not know are left alone: ${kinds.join(', ')}`,
      ),
    deadlineHeld: (kind, subjectId) => once(`the ${kind} deadline of ${subjectId} is now held`),
    handlerFails: (kind, error) =>
      once(`handling ${kind} deadlines fails for all: ${reasonOf(error)}`),
    timerStore: (state, why) => {
      if (state === 'unhealthy') once(`the timer store takes no alarms: ${reasonOf(why)}`);
    },
  };
}
