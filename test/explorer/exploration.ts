/** What one exploration found; printed as one line of JSON with `--json`. */
export interface Exploration {
  readonly seed: number;
  readonly programs: number;
  readonly tookMs: number;
  readonly path: string | null;
  /** What broke, the program and its steps; null when every promise held. */
  readonly broken: string | null;
}

/** The exit code of a run in which a promise broke, or a seeded bug survived. */
export const FOUND_SOMETHING = 7;
