import type { TimeoutTelemetry } from '../telemetry';

/**
 * The service knows a subject by the id that it is armed by, and a host by its own: those that are held are
 * told of by that, once it is read. One that has been armed again by then is held no more.
 * @param nameAll the hosts' names of these ids; where it fails they are told of by their ids
 */
export function namedTelemetry(
  telemetry: TimeoutTelemetry,
  nameAll: (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>,
): TimeoutTelemetry {
  let waiting: Parameters<TimeoutTelemetry['deadlineHeld']>[] = [];
  const tell = async (): Promise<void> => {
    const held = waiting;
    waiting = [];
    const names = await nameAll(held.map(([, id]) => id)).catch(() => undefined);
    for (const [kind, id, error] of held) {
      const name = names ? names.get(id) : id;
      if (name !== undefined) telemetry.deadlineHeld(kind, name, error);
    }
  };
  return {
    ...telemetry,
    deadlineHeld: (...one) => {
      // All of a batch are read together.
      if (waiting.push(one) === 1) queueMicrotask(() => void tell());
    },
  };
}
