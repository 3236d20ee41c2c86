/** What was looked at, and how it is. */
export interface Check {
  readonly area: 'settings' | 'postgres' | 'redis' | 'workers' | 'flow' | 'provider' | 'invariants';
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
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (inner instanceof AggregateError && inner.errors.length > 0) inner = inner.errors[0];
  const detail = inner instanceof Error ? inner.message || inner.name : String(inner);
  return { area, name, state: 'unknown', detail, fix };
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
