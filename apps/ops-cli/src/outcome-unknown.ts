import { CommandFailure } from './command-failure';
import { EXIT } from './exit-code';

/** How to repeat a command, or to go on with it, of which something may have been done. */
export interface WayOn {
  /** By which it is known when it is run again. */
  readonly idempotencyKey?: string;
  /** The command that goes on where this one has come to. */
  readonly goesOnBy?: string;
}

/** The command that has failed. */
export interface Failed extends WayOn {
  /** As it is typed, without what stands behind it. */
  readonly command: string;
}

/** What an operator looks at before a command is run again whose repetition may do it twice, or tells less. */
const LOOK_FIRST: Readonly<Record<string, string>> = {
  'events rewind': 'run it again: what was sent meanwhile is sent once more, as rewinding does',
  'orders cancel': 'lastcall orders show ID tells what became of it',
  'orders extend': 'lastcall orders show ID tells what became of it',
  'orders settle': 'lastcall orders show ID tells what became of it',
  'payments settle': 'lastcall payments list shows whether it is on hold still',
  'products import': 'lastcall products list tells what is there now; then with --dry-run',
  'products set': 'lastcall products list tells what is there now',
  'products stock':
    'lastcall products list tells how many there are, GET /v1/ops/products/SKU who changed that last: run it ' +
    'again only if it is not among these',
  'refunds create': 'lastcall orders show ID tells what became of it',
  'refunds retry': 'lastcall refunds list tells where it stands',
  'refunds settle': 'lastcall refunds list tells where it stands',
  'webhook-endpoints create':
    'lastcall webhook-endpoints list shows whether it is there: then lastcall webhook-endpoints rotate ID ' +
    '--overlap 0s tells a secret for it, and a second one would hear of everything as well',
  'webhook-endpoints rotate':
    'lastcall webhook-endpoints list --json: where previousSecretUntil is null, run it again. Where it is not, ' +
    'the other side has the previous secret, which another rotation would end: make another endpoint for its ' +
    'address, and delete this one afterwards',
  'webhooks dismiss': 'lastcall webhooks list tells what became of it',
  'webhooks replay': 'lastcall webhooks list tells what became of it',
};
const REPEATABLE = 'run it again: what is done already is not done twice';

/** Of a command of whose COMMIT nobody has heard: it may have done all that it was to do, or nothing. */
export function outcomeUnknown(command: string, why: string, cause: unknown): CommandFailure {
  return new CommandFailure(
    {
      code: 'no_answer',
      exitCode: EXIT.dependencyDown,
      what: 'The answer of Postgres to COMMIT never came: whether it was done is not known',
      why,
      next: LOOK_FIRST[command] ?? REPEATABLE,
    },
    { cause },
  );
}

/** Codes of failures behind which a change may be there all the same, or a part of it. */
const MAYBE_DONE = new Set(['dependency_down', 'no_answer']);

/** The same failure with what it leaves to be repeated, or to be gone on with. */
export function withWayOn(
  failure: CommandFailure,
  { idempotencyKey, goesOnBy }: WayOn,
): CommandFailure {
  const { parts, cause } = failure;
  if (!MAYBE_DONE.has(parts.code)) return failure;
  const next = [
    parts.next,
    ...(goesOnBy ? [`then ${goesOnBy}`] : []),
    ...(idempotencyKey
      ? [`the same with --idempotency-key ${idempotencyKey} does it once only`]
      : []),
  ].join('; ');
  const fields = idempotencyKey ? { ...parts.fields, idempotencyKey } : parts.fields;
  return new CommandFailure({ ...parts, next, fields }, { cause });
}
