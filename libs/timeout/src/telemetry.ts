import type { Held } from './lock';

/** Where this library reports what it does; an application wires it to its metrics and log. */
export interface TimeoutTelemetry {
  locked(outcome: Held['outcome']): void;
  /** A batch could not be handled; it is tried again in smaller ones. */
  batchFailed(kind: string, size: number, error: unknown): void;
  /** Deadlines of these kinds wait, and this version knows none of them: they are left alone. */
  unknownKinds(kinds: readonly string[]): void;
  /** A subject failed too often and waits for an operator. */
  deadlineHeld(kind: string, subjectId: string, error: unknown): void;
  /** The timer's store did not take alarms, lost its data, or came back. */
  timerStore(state: 'healthy' | 'unhealthy', why?: unknown): void;
  /** A sweep has armed what was not, and sent the drains out. */
  swept(counts: { armed: number; oldestLagMs: number; tookMs: number }): void;
  /** The drains that a sweep has sent out are back: so much was overdue. */
  sweptUp(counts: { found: number }): void;
  /** Background work failed as a whole and is tried again on its schedule. */
  failed(what: string, error: unknown): void;
}

export const silentTelemetry: TimeoutTelemetry = {
  locked: () => undefined,
  batchFailed: () => undefined,
  unknownKinds: () => undefined,
  deadlineHeld: () => undefined,
  timerStore: () => undefined,
  swept: () => undefined,
  sweptUp: () => undefined,
  failed: () => undefined,
};
