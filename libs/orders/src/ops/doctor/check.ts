import { reasonOf } from '../../order/errors';

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
