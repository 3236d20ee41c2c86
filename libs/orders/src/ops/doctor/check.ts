import { sqlStateOf } from '@app/timeout';
import { reasonOf } from '../../order/errors';
import { postgresRefusal } from '../../order/postgres-refusal';
import { redisRefusal } from '../../order/redis-refusal';

/** What was looked at, and how it is. */
export interface Check {
  readonly area:
    | 'settings'
    | 'postgres'
    | 'redis'
    | 'timer'
    | 'workers'
    | 'flow'
    | 'provider'
    | 'history'
    | 'invariants';
  readonly name: string;
  /**
   * `warning`: could be better, and breaks nothing; `finding`: something to mend; `unknown`: it
   * could not be looked at, which is a finding, too.
   */
  readonly state: 'ok' | 'warning' | 'finding' | 'unknown';
  readonly detail: string;
  /** What to do about it; null when it is fine. */
  readonly fix: string | null;
}

export function ok(area: Check['area'], name: string, detail: string): Check {
  return { area, name, state: 'ok', detail, fix: null };
}

export function warning(area: Check['area'], name: string, detail: string, fix: string): Check {
  return { area, name, state: 'warning', detail, fix };
}

export function finding(area: Check['area'], name: string, detail: string, fix: string): Check {
  return { area, name, state: 'finding', detail, fix };
}

export function unknown(area: Check['area'], name: string, error: unknown, fix: string): Check {
  return { area, name, state: 'unknown', detail: reasonOf(error), fix };
}

/** What could not be looked at, for whatever reason. */
export function unseen(area: Check['area'], name: string, error: unknown): Check {
  const mend = mendOf(error) ?? 'mend what it says; lastcall doctor looks again';
  return unknown(area, name, error, mend);
}

/** How to mend what a store has refused; undefined for other errors, as for a store that is away. */
export function mendOf(error: unknown): string | undefined {
  const refused = postgresRefusal(error) ?? redisRefusal(error);
  if (refused || sqlStateOf(error) === undefined) return refused?.mend;
  return 'mend what Postgres says; lastcall doctor looks again';
}

/** `ok` when the condition holds, else a finding. */
export function expectation(
  area: Check['area'],
  name: string,
  holds: boolean,
  detail: string,
  fix: string,
): Check {
  return holds ? ok(area, name, detail) : finding(area, name, detail, fix);
}

/** For people: how long ago, or how late. */
export function ago(durationMs: number): string {
  return durationMs < 10_000
    ? `${(durationMs / 1_000).toFixed(1)} s`
    : `${Math.round(durationMs / 1_000)} s`;
}

/** What is looked at together; the name is what stands there where that fails. */
export type Look = readonly [
  area: Check['area'],
  name: string,
  look: () => Promise<readonly Check[]>,
];

/** Nobody wonders before. */
const SLOW_MS = 2_000;

/** Hears of what has been looked at for two seconds: in a shop of millions some of it takes many. */
export type TellOfSlow = (what: string) => void;

/**
 * One after the other: the doctor is no load test. What cannot be looked at is a finding, and keeps
 * nothing else from being looked at.
 */
export async function lookAtAll(
  looks: readonly Look[],
  tellOfSlow: TellOfSlow = () => undefined,
): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [area, name, look] of looks) {
    const slow = setTimeout(() => tellOfSlow(`${area}, ${name}`), SLOW_MS);
    try {
      checks.push(...(await look()));
    } catch (error) {
      checks.push(unseen(area, name, error));
    } finally {
      clearTimeout(slow);
    }
  }
  return checks;
}
