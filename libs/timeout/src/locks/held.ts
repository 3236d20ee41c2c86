import type { Held } from '../lock';
import type { Keys } from './keys';

export type BusyKeys = ReadonlyMap<string, number>;

export function heldNothing(outcome: 'held' | 'contended', busyForMs: BusyKeys = new Map()): Held {
  return { keys: new Set(), outcome, busyForMs, release: async () => undefined };
}

export function unlocked({ each }: Keys): Held {
  return { keys: new Set(each), outcome: 'degraded', release: async () => undefined };
}

/** What came of asking several times, for other keys each, as one: its outcome is the worst. */
export function together(parts: readonly Held[]): Held {
  const [only = heldNothing('held')] = parts;
  if (parts.length <= 1) return only;
  const outcomes = new Set(parts.map(({ outcome }) => outcome));
  const contended = outcomes.has('contended') ? 'contended' : 'held';
  return {
    keys: new Set(parts.flatMap(({ keys }) => [...keys])),
    outcome: outcomes.has('degraded') ? 'degraded' : contended,
    busyForMs: new Map(
      parts.flatMap(({ busyForMs = new Map<string, number>() }) => [...busyForMs]),
    ),
    release: async () => void (await Promise.all(parts.map((part) => part.release()))),
  };
}
