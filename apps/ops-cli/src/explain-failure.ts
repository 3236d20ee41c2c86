import type { ErrandError, LastcallError } from '@app/orders';
import { briefFailure } from './brief-failure';
import { CommandFailure, type FailureParts } from './command-failure';
import { EXIT, type ExitCode } from './exit-code';
import { NEXT_STEPS } from './next-steps';
import { type Failed, outcomeUnknown, withWayOn } from './outcome-unknown';

const NOT_RUNNING = 'no running installation was found';

/** Turns whatever was thrown into what an operator can act on. */
export async function explainFailure(error: unknown, failed: Failed): Promise<CommandFailure> {
  return briefFailure(await explained(error, failed));
}

async function explained(error: unknown, failed: Failed): Promise<CommandFailure> {
  if (error instanceof CommandFailure) return error;
  const { command } = failed;
  const isKnown = fromUsage(error, command) ?? fromSettings(error);
  return isKnown ?? withWayOn(await fromCore(error, command), failed);
}

/** oclif's own complaints: flags, arguments. */
function fromUsage(error: unknown, command: string): CommandFailure | undefined {
  const exit = (error as { oclif?: { exit?: number } }).oclif?.exit;
  if (exit !== EXIT.usage || !(error instanceof Error)) return undefined;
  return new CommandFailure({
    code: 'usage',
    exitCode: EXIT.usage,
    what: error.message.replace(/\n?See more help with --help\s*/, '').trim(),
    next: `lastcall ${command} --help`,
  });
}

function fromSettings(error: unknown): CommandFailure | undefined {
  if ((error as { code?: unknown }).code !== 'invalid_settings') return undefined;
  const { message } = error as Error;
  const isNotRunning = message.includes(NOT_RUNNING);
  return new CommandFailure(
    {
      code: 'invalid_settings',
      exitCode: isNotRunning ? EXIT.dependencyDown : EXIT.usage,
      what: message,
      why: isNotRunning
        ? 'the first of these that says where it is counts: --home or --context, the environment, the context in use, a folder above'
        : 'settings are read from the environment, then from LASTCALL_HOME',
      next: isNotRunning
        ? 'set DATABASE_URL (and REDIS_URL, if there is one) as the processes have them, and leave out --home; or npm start in the project of lastcall'
        : 'correct them and run the command again',
    },
    { cause: error },
  );
}

async function fromCore(error: unknown, command: string): Promise<CommandFailure> {
  const core = await loadCore();
  return (
    refused(error, core) ??
    maybeCommitted(error, core, command) ??
    withoutAnswer(error) ??
    dependencyDown(error, core) ??
    unexpected(error)
  );
}

/** Only now: a mistyped flag needs none of it. */
const loadCore = async () => ({
  orders: await import('@app/orders/look'),
  timeout: await import('@app/timeout'),
});

type Core = Awaited<ReturnType<typeof loadCore>>;

function refused(error: unknown, { orders, timeout }: Core): CommandFailure | undefined {
  const by = error instanceof orders.LastcallError ? error : orders.refusalOfUnkeptText(error);
  if (by) return refusal(by, orders.ERROR_STATUS[by.code]);
  if (timeout.isContention(error)) {
    const locked = orders.postgresRefusal(error);
    const what = locked ? `${locked.what}: ${locked.mend}` : 'Others are changing the same things';
    const busy = new orders.LastcallError('busy', what, {}, { cause: error });
    return refusal(busy, orders.ERROR_STATUS.busy);
  }
  if (error instanceof timeout.TimerAbilityError) {
    return asItSays(error, 'nothing to do; docs/drivers.md tells what each timer driver can do');
  }
  if (error instanceof timeout.SweepUnderWayError) {
    const next =
      'wait for it: lastcall stats shows what is overdue; it is over after an hour at most';
    return asItSays(error, next);
  }
  return undefined;
}

function asItSays(error: Error & { readonly code: string }, next: string): CommandFailure {
  const { code, message: what } = error;
  return new CommandFailure({ code, exitCode: EXIT.refused, what, next }, { cause: error });
}

function maybeCommitted(
  error: unknown,
  { orders, timeout }: Core,
  command: string,
): CommandFailure | undefined {
  if (!(error instanceof timeout.CommitUnknownError)) return undefined;
  return outcomeUnknown(command, orders.reasonOf(error.cause), error);
}

function dependencyDown(error: unknown, core: Core): CommandFailure | undefined {
  for (const isThis of DEPENDENCIES) {
    const down = isThis(error, core);
    if (!down) continue;
    const parts = { code: 'dependency_down', exitCode: EXIT.dependencyDown, ...down };
    return new CommandFailure({ ...parts, why: core.orders.reasonOf(error) }, { cause: error });
  }
  return undefined;
}

type Down = Pick<FailureParts, 'what' | 'next'>;

/** What does not answer, or lets nobody in: the first that knows the error, so the more special ones first. */
const DEPENDENCIES: readonly ((error: unknown, core: Core) => Down | false | undefined)[] = [
  (error, { orders }) =>
    (orders.isOfOtherVersion(error) || error instanceof orders.MissingTablesError) && {
      what: 'The database is not migrated to this version',
      next: 'npm start migrates; or: node dist/apps/api/src/migrate.js; or set the DATABASE_SCHEMA that it is in',
    },
  (error, { timeout }) =>
    timeout.isCanceledStatement(error) && {
      what: 'Postgres took too long over a statement',
      next: 'run it again when the load is lower; lastcall doctor looks at Postgres',
    },
  (error, { orders }) => mendedAsSaid(orders.redisRefusal(error)),
  (error, { timeout }) =>
    error instanceof timeout.AlarmStoreError && {
      what: 'The alarm store does not answer',
      next: 'start it, and check the settings of TIMER_DRIVER; lastcall doctor looks closer',
    },
  (error) =>
    isRedisError(error) && {
      what: 'Redis does not answer',
      next: 'start Redis (npm start does) and check REDIS_URL; lastcall doctor looks closer',
    },
  (error, { timeout }) => refusedByPooler(error, timeout),
  (error, { orders }) => mendedAsSaid(orders.postgresRefusal(error)),
  (error, { orders }) =>
    orders.isInfrastructureError(error) && {
      what: 'Postgres does not answer',
      next: 'start Postgres (npm start does) and check DATABASE_URL; lastcall doctor looks closer',
    },
];

function mendedAsSaid(by: { what: string; mend: string } | undefined): Down | undefined {
  return by && { what: by.what, next: `${by.mend}; lastcall doctor looks closer` };
}

function refusedByPooler(
  error: unknown,
  { isRefusedByPooler, PoolerRefusalError, TransactionPoolingError }: Core['timeout'],
): Down | undefined {
  const by = isRefusedByPooler(error) ? new PoolerRefusalError(String(error)) : error;
  if (!(by instanceof PoolerRefusalError || by instanceof TransactionPoolingError)) {
    return undefined;
  }
  return { what: by.message, next: 'change its settings; lastcall doctor looks closer' };
}

function unexpected(error: unknown): CommandFailure {
  return new CommandFailure(
    {
      code: 'unexpected',
      exitCode: EXIT.unexpected,
      what: error instanceof Error ? error.message : String(error),
      why: 'this is a bug or something nobody thought of',
      next: 'run it again with DEBUG=oclif:lastcall:* for the stack, and report it',
    },
    { cause: error },
  );
}

/** By its name: who has left one has loaded the core, and nobody else needs it for this. */
const isErrandError = (error: unknown): error is ErrandError =>
  error instanceof Error && error.name === 'ErrandError';

/** Of what any worker carries out. */
const NOT_HERE: Readonly<Partial<Record<ErrandError['what'], string>>> = {
  'orders.extend':
    'its open payment is at a provider that this command has not, or not the secrets of',
  'refunds.create-at-provider':
    "its money is with a provider of the host's own, which says what it would not send back",
};

/** What only the processes have: the host's hooks, its own stock, providers and their secrets. */
function withoutAnswer(error: unknown): CommandFailure | undefined {
  if (!isErrandError(error)) return undefined;
  const why =
    NOT_HERE[error.what] ?? 'only the processes of the host can call its hooks, or its own stock';
  if (error.state === 'interrupted') {
    const what = 'Interrupted: nothing was changed';
    return new CommandFailure({ code: 'interrupted', exitCode: EXIT.interrupted, what });
  }
  if (error.state === 'not_taken') {
    const what = 'No worker has come for it yet: it is withdrawn, nothing was changed';
    const next = NOT_HERE[error.what]
      ? 'start a worker, and run it again: one that has its provider; lastcall doctor shows who is alive, and who has which'
      : `start a worker of the host${error.what === 'refunds.create' ? " that has the money's provider, too" : ''}, and run it again; lastcall doctor shows who is alive. Where there ` +
        'is no such host any more, the runbook says what to do';
    return new CommandFailure({
      code: 'no_worker',
      exitCode: EXIT.dependencyDown,
      what,
      why,
      next,
    });
  }
  const what = 'No answer has come of the worker: the outcome is not known';
  const isPayment = error.what === 'payments.settle' || error.what === 'payments.correct';
  const next = isPayment
    ? 'in half a minute lastcall payments list shows whether it is on hold still; then run it again'
    : 'in half a minute lastcall orders show ID tells what became of it; run it again if nothing did';
  const parts = { code: 'no_answer', exitCode: EXIT.dependencyDown, what, why, next };
  return new CommandFailure(parts, { cause: error });
}

function refusal(error: LastcallError, status: number): CommandFailure {
  const { code, message, fields } = error;
  return new CommandFailure(
    {
      code,
      exitCode: exitCodeOf(status),
      what: message,
      next: NEXT_STEPS[code],
      fields,
    },
    { cause: error },
  );
}

function exitCodeOf(status: number): ExitCode {
  if (status === 400 || status === 422) return EXIT.usage;
  if (status === 404) return EXIT.notFound;
  if (status === 502) return EXIT.dependencyDown;
  return status >= 500 && status !== 503 ? EXIT.unexpected : EXIT.refused;
}

function isRedisError(error: unknown): boolean {
  return (
    error instanceof Error && /MaxRetriesPerRequest|Stream isn't writeable/.test(error.message)
  );
}
