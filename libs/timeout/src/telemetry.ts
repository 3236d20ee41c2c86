import type { Held } from './lock';

/** Where this library reports what it does; an application wires it to its metrics and log. */
export interface TimeoutTelemetry {
  locked(outcome: Held['outcome']): void;
  /**
   * A batch of so many could not be handled as a whole, or so many of one could not: the rest goes
   * on, these are tried again later. `error` is the first.
   */
  batchFailed(kind: string, size: number, error: unknown): void;
  /** Deadlines of these kinds wait, and this version knows none of them: they are left alone. */
  unknownKinds(kinds: readonly string[]): void;
  /** A subject failed too often and waits for an operator; a host's is told of by the host's own id. */
  deadlineHeld(kind: string, subjectId: string, error: unknown): void;
  /** Handling this kind fails for all: it stands still but for probes, and somebody has to look. */
  handlerFails(kind: string, error: unknown): void;
  /** It works again: the kind goes on. */
  handlerWorks(kind: string): void;
  /** The timer's store did not take alarms, lost its data, or came back. */
  timerStore(state: 'healthy' | 'unhealthy', why?: unknown): void;
  /** A sweep has armed what was not, and sent the drains out. */
  swept(counts: { armed: number; oldestLagMs: number; tookMs: number }): void;
  /** The drains that a sweep has sent out are back: so much was overdue. */
  sweptUp(counts: { found: number }): void;
  /** Deadlines were handled: so many within the service level of 30 s, so many later than that. */
  handled(kind: string, counts: { readonly inTime: number; readonly late: number }): void;
  /** Background work failed as a whole and is tried again on its schedule. */
  failed(what: string, error: unknown): void;
}

export const silentTelemetry: TimeoutTelemetry = {
  locked: () => undefined,
  batchFailed: () => undefined,
  unknownKinds: () => undefined,
  deadlineHeld: () => undefined,
  handlerFails: () => undefined,
  handlerWorks: () => undefined,
  timerStore: () => undefined,
  swept: () => undefined,
  sweptUp: () => undefined,
  handled: () => undefined,
  failed: () => undefined,
};
