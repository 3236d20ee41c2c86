/** A kind of deadline was declared, or asked for, that no handler answers for. */
export class UnhandledDeadlineError extends Error {
  readonly code = 'unhandled_deadline';

  constructor(readonly kinds: readonly string[]) {
    super(
      `No handler for deadlines of kind ${kinds.map((kind) => `"${kind}"`).join(', ')}. ` +
        'Register one with @HandlesDeadline(kind), or take it out of the kinds given to TimeoutModule.',
    );
  }
}

/** Two providers claim the same kind of deadline. */
export class AmbiguousDeadlineHandlerError extends Error {
  readonly code = 'ambiguous_deadline_handler';

  /** @param marks what to keep one of */
  constructor(kind: string, marks = `@HandlesDeadline('${kind}')`) {
    super(`Two handlers for deadlines of kind "${kind}". Keep one ${marks}.`);
  }
}

/** An application has two modules of one name: who asks for `Timeouts` would get either's. */
export class SecondTimeoutModuleError extends Error {
  readonly code = 'second_timeout_module';

  constructor(name: string) {
    super(
      `TimeoutModule is imported more than once under the name "${name}" in this application: import it once, for it is ` +
        'global, and what imports the same module object has the same one; or give another one, as of another schema, a `name`.',
    );
  }
}

/** A module was loaded when the application ran already: Nest starts nothing of it any more. */
export class LazilyLoadedError extends Error {
  readonly code = 'lazily_loaded';

  constructor(name: string, what: string) {
    super(
      `${name} is loaded lazily: ${what}, as Nest calls what starts it at boot alone. Import it in a module that is ` +
        'there when the application starts.',
    );
  }
}

/** A handler answers for a kind that the module was not told of. */
export class UndeclaredDeadlineError extends Error {
  readonly code = 'undeclared_deadline';

  constructor(kind: string) {
    super(`A handler for "${kind}", which is not among the kinds given to TimeoutModule.`);
  }
}

/** A sharded sweep was asked for while another one is under way: its shards would be shared out twice. */
export class SweepUnderWayError extends Error {
  readonly code = 'sweep_under_way';

  constructor(
    readonly runId: string,
    readonly sinceSeconds: number,
  ) {
    super(`A sharded sweep is under way, begun ${sinceSeconds} s ago (${runId}).`);
  }
}

/** What lets our sessions through a pooler that refuses them. */
export const LET_THROUGH =
  'connect to Postgres itself, or have the pooler before it ignore them (PgBouncer: ignore_startup_parameters = options) ' +
  'and set them for the user (ALTER ROLE ... SET ...): docs/operations.md, "Postgres"';

/** A pooler before Postgres lets no session in that brings settings of its own, as ours do. */
export class PoolerRefusalError extends Error {
  readonly code = 'pooler_refusal';

  constructor(said: string) {
    super(`A pooler refuses the settings of our sessions (${said}): ${LET_THROUGH}`);
  }
}

/** Connections that have no session of their own: their limits, prepared statements and locks are lost. */
export class TransactionPoolingError extends Error {
  readonly code = 'transaction_pooling';

  constructor() {
    super(
      'A pooler stands before Postgres and gives each transaction another session (PgBouncer: pool_mode = transaction), ' +
        'so that limits and prepared statements are lost: let it pool sessions (pool_mode = session), or connect to Postgres itself.',
    );
  }
}

/** A handler is made anew for each request, or needs what is: no request leads to a deadline. */
export class ScopedDeadlineHandlerError extends Error {
  readonly code = 'scoped_deadline_handler';

  constructor(kind: string) {
    super(
      `The handler for deadlines of kind "${kind}" is request-scoped or transient, or depends on something that is. ` +
        'Deadlines fire outside of any request: make it and what it depends on singletons.',
    );
  }
}

/** A module's options are made from what is made anew for each request. */
export class ScopedOptionsError extends Error {
  readonly code = 'scoped_options';

  /** @param given what is injected */
  constructor(module: string, given: string) {
    super(
      `${module} is given ${given}, which is request-scoped, or depends on something that is: nothing of it would ` +
        'start, as deadlines fire outside of any request, and each request would open connections of its own. Make it and ' +
        'what it depends on singletons.',
    );
  }
}

/** Another one has migrated this database for minutes, or hangs. */
export class MigrationUnderWayError extends Error {
  readonly code = 'migration_under_way';

  /** @param holders sessions that have its turn, since they connected */
  constructor(holders: readonly string[]) {
    super(
      `Another migration is under way (${holders.join('; ') || 'it has just ended'}): wait for its end, or ` +
        'end it (pg_terminate_backend), and migrate again. Nothing was changed.',
    );
  }
}

/** Others have held what a migration changes for minutes. */
export class LockedTablesError extends Error {
  readonly code = 'locked_tables';

  /** @param holders sessions that use our tables, those with the oldest transactions first */
  constructor(holders: readonly string[], cause: unknown) {
    super(
      'Other sessions have held a table that a migration changes for too long ' +
        `(${holders.join('; ') || 'nobody does any more'}): wait for their ends, or end them ` +
        '(pg_terminate_backend), and migrate again. It has changed nothing; those before it are done.',
      { cause },
    );
  }
}
