export interface ArmFromQueryOptions {
  /** Where the shop's tables and ours are. A session of its own is opened: never through a pooler. */
  readonly url: string;
  /** The schema of our own tables; `lastcall` unless given. */
  readonly schema?: string;
  /** One `SELECT` of `kind`, `subject` and `due`, of the shop's own tables; it can change nothing. */
  readonly query: string;
  /** Deadlines armed in one transaction. */
  readonly batch: number;
  /** At most so many a second; as fast as it goes when undefined. */
  readonly ratePerSecond?: number | undefined;
  /** Where an earlier run stopped: its `cursor`. */
  readonly resume?: string | undefined;
  /** True: counts, and arms nothing. */
  readonly dryRun?: boolean;
  /** Aborted: stops after the current batch. */
  readonly signal?: AbortSignal;
  onProgress?(progress: ArmFromQueryProgress): void;
}

export interface ArmFromQueryProgress {
  /** Rows of the query; what was resumed after is not among them. */
  readonly total: number;
  readonly done: number;
  /** Of these, armed now; in a dry run those that would be. */
  readonly armed: number;
  /** Armed before, by the shop or an earlier run: they are left as they are. */
  readonly already: number;
  /** Due already: they are handled as soon as they are armed. */
  readonly overdue: number;
  /** Where to resume; undefined before the first batch. */
  readonly cursor: string | undefined;
}

export interface ArmFromQueryResult extends ArmFromQueryProgress {
  readonly interrupted: boolean;
  /** Kinds of the query of which nothing was armed before, twenty at the most: a name mistyped is one. */
  readonly newKinds: readonly string[];
}

/** The query, or the place to resume at, is not what it has to be; nothing has been armed. */
export class ArmFromQueryError extends Error {
  readonly code = 'invalid_query';
}
