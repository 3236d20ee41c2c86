import type { ErrandError, LastcallError } from '@app/orders';
import { briefFailure } from './brief-failure';
import { CommandFailure } from './command-failure';
import { EXIT, type ExitCode } from './exit-code';
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
        ? 'neither the environment nor LASTCALL_HOME tells where the installation is'
        : 'settings are read from the environment, then from LASTCALL_HOME',
      next: isNotRunning
        ? 'npm start, or set DATABASE_URL and REDIS_URL (see .env.example)'
        : 'correct them and run the command again',
    },
    { cause: error },
  );
}

async function fromCore(error: unknown, command: string): Promise<CommandFailure> {
  const core = await import('@app/orders/look');
  const {
    AlarmStoreError,
    CommitUnknownError,
    isCanceledStatement,
    isContention,
    isRefusedByPooler,
    PoolerRefusalError,
    SweepUnderWayError,
    TimerAbilityError,
    TransactionPoolingError,
  } = await import('@app/timeout');
  const refused = error instanceof core.LastcallError ? error : core.refusalOfUnkeptText(error);
  if (refused) return refusal(refused, core.ERROR_STATUS[refused.code]);
  if (error instanceof CommitUnknownError) {
    return outcomeUnknown(command, core.reasonOf(error.cause), error);
  }
  const dependencyDown = (what: string, next: string): CommandFailure =>
    new CommandFailure(
      {
        code: 'dependency_down',
        exitCode: EXIT.dependencyDown,
        what,
        why: core.reasonOf(error),
        next,
      },
      { cause: error },
    );
  if (core.isOfOtherVersion(error) || error instanceof core.MissingTablesError) {
    return dependencyDown(
      'The database is not migrated to this version',
      'npm start migrates; or: node dist/apps/api/src/migrate.js; or set the DATABASE_SCHEMA that it is in',
    );
  }
  if (isCanceledStatement(error)) {
    const next = 'run it again when the load is lower; lastcall doctor looks at Postgres';
    return dependencyDown('Postgres took too long over a statement', next);
  }
  if (isContention(error)) {
    const locked = core.postgresRefusal(error);
    const what = locked ? `${locked.what}: ${locked.mend}` : 'Others are changing the same things';
    const busy = new core.LastcallError('busy', what, {}, { cause: error });
    return refusal(busy, core.ERROR_STATUS.busy);
  }
  if (isErrandError(error)) return withoutAnswer(error);
  if (error instanceof TimerAbilityError) {
    const next = 'nothing to do; docs/drivers.md tells what each timer driver can do';
    const { code, message: what } = error;
    return new CommandFailure({ code, exitCode: EXIT.refused, what, next }, { cause: error });
  }
  if (error instanceof SweepUnderWayError) {
    const next =
      'wait for it: lastcall stats shows what is overdue; it is over after an hour at most';
    const { code, message: what } = error;
    return new CommandFailure({ code, exitCode: EXIT.refused, what, next }, { cause: error });
  }
  const refusedByRedis = core.redisRefusal(error);
  if (refusedByRedis) {
    return dependencyDown(
      refusedByRedis.what,
      `${refusedByRedis.mend}; lastcall doctor looks closer`,
    );
  }
  if (error instanceof AlarmStoreError) {
    return dependencyDown(
      'The alarm store does not answer',
      'start it, and check the settings of TIMER_DRIVER; lastcall doctor looks closer',
    );
  }
  if (isRedisError(error)) {
    return dependencyDown(
      'Redis does not answer',
      'start Redis (npm start does) and check REDIS_URL; lastcall doctor looks closer',
    );
  }
  const pooler = isRefusedByPooler(error) ? new PoolerRefusalError(String(error)) : error;
  if (pooler instanceof PoolerRefusalError || pooler instanceof TransactionPoolingError) {
    return dependencyDown(pooler.message, 'change its settings; lastcall doctor looks closer');
  }
  const byPostgres = core.postgresRefusal(error);
  if (byPostgres) {
    return dependencyDown(byPostgres.what, `${byPostgres.mend}; lastcall doctor looks closer`);
  }
  if (core.isInfrastructureError(error)) {
    return dependencyDown(
      'Postgres does not answer',
      'start Postgres (npm start does) and check DATABASE_URL; lastcall doctor looks closer',
    );
  }
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

/** The host's hooks, or its own stock, hear of changes in its processes alone: a worker makes them. */
function withoutAnswer(error: ErrandError): CommandFailure {
  const why = 'only the processes of the host can call its hooks, or its own stock';
  if (error.state === 'interrupted') {
    const what = 'Interrupted: nothing was changed';
    return new CommandFailure({ code: 'interrupted', exitCode: EXIT.interrupted, what });
  }
  if (error.state === 'not_taken') {
    const what = 'No worker of the host has come for it yet: it is withdrawn, nothing was changed';
    const next =
      'start a worker of the host, and run it again; lastcall doctor shows who is alive. Where there ' +
      'is no such host any more, the runbook says what to do';
    return new CommandFailure({
      code: 'no_worker',
      exitCode: EXIT.dependencyDown,
      what,
      why,
      next,
    });
  }
  const what = 'No answer has come of the worker of the host: the outcome is not known';
  const isPayment = error.what === 'payments.settle';
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
      next: NEXT_STEPS[code] ?? 'lastcall doctor tells how the installation is',
      fields,
    },
    { cause: error },
  );
}

const NEXT_STEPS: Readonly<Record<string, string>> = {
  invalid_request: 'correct it and run the command again',
  order_not_found: 'lastcall orders list shows the orders there are',
  webhook_endpoint_not_found: 'lastcall webhook-endpoints list shows those there are',
  webhook_delivery_not_found: 'lastcall webhook-endpoints deliveries ID shows those it has',
  too_many_webhook_endpoints: 'lastcall webhook-endpoints list, and delete one',
  product_not_found: 'lastcall products list shows the products there are',
  stock_out_of_range: 'lastcall products list tells what is available',
  hooks_elsewhere: "leave it to the host's processes; lastcall doctor shows who is alive",
  order_not_closable: 'lastcall orders show ID tells what became of it; a paid order is refunded',
  order_not_cancelable: 'lastcall orders show ID tells what became of it',
  order_not_settleable: 'lastcall orders show ID tells what became of it',
  refund_exceeds_balance: 'lastcall orders show ID tells what was paid and what went back',
  amount_not_chargeable: 'send back an amount that its provider counts in',
  restock_exceeds_order: 'lastcall orders show ID tells what it has in it',
  order_not_extendable: 'lastcall orders show ID tells what became of it',
  reconcile_run_not_found: 'lastcall reconcile --since 7d begins a new one',
  reconcile_nothing_open: 'lastcall reconcile --since 7d looks whether the books agree',
  payment_not_found: 'lastcall payments list shows the payments on hold',
  payment_not_settleable: 'lastcall payments list shows the payments on hold',
  refund_not_found: 'lastcall refunds list shows the refunds there are',
  refund_not_retryable: 'lastcall refunds list tells where it stands',
  refund_not_settleable: 'lastcall refunds list tells where it stands',
  customer_not_found:
    "SUB is the subject of the customer's token, as `orders list --json` shows it",
  stream_elsewhere: 'set REDIS_URL, and run it again; nothing was erased',
  customer_not_erasable: 'lastcall orders list --customer SUB shows them',
  webhook_not_found: 'lastcall webhooks list shows the stored webhooks',
  webhook_not_replayable: 'lastcall webhooks list tells what became of it',
  busy: 'run the same command again in a moment',
};

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
