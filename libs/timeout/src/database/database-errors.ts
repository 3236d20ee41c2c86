import { types } from 'node:util';
import { causesOf, wordsOf } from '../causes';
import { OthersTroubleError, StoodStillError } from './others-errors';

/**
 * SQLSTATEs that speak of the server and not of the statement: 28 refuses the login, as while a password is
 * changed, 3D000 has no such database any more, 25006 is a standby's refusal, 25P03 ends a transaction that
 * stood still, 25P04 one that took too long.
 */
const INFRASTRUCTURE_CLASSES = /^(08|28|3D000|53|57|58|25006|25P0[34])/;
/** A limit of its own; most of them speak of the statement. */
const LIMIT_EXCEEDED = '54000';
/** The functions of Postgres that give a transaction its number, and those who share a row theirs. */
const GIVE_IDS = /^GetNew(?:TransactionId|MultiXactId)$/;
const LOCK_NOT_AVAILABLE = '55P03';
/** Errors after which the same transaction, begun anew, may well succeed. */
const CONTENTION = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  LOCK_NOT_AVAILABLE,
]);
const QUERY_CANCELED = '57014';
const SYNTAX_ERROR = '42601';
/** Of what is wrong with the text as a whole: within a statement it is the parser who hears of it. */
const PREPARES = 'exec_parse_message';
/** Each has a digit, unlike EPIPE, which Node says of a socket. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;
/** Nobody is spoken to: the certificate is not trusted, or another host's, or there is none, or no TLS that both take. */
const TLS_TROUBLE = /SELF_SIGNED_CERT|UNABLE_TO_|CERT_|ERR_TLS_|ERR_SSL_|EPROTO|SSL connection/;
/** Nobody could be asked: a name that the DNS does not know, no way there, a socket that is not there, or one too many. */
const NOT_REACHED =
  /ENOTFOUND|EAI_|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|EADDRNOTAVAIL|connect (?:ENOENT|EACCES|EPERM|EMFILE|ENFILE)/;
/** The last by TypeORM, of a session that has ended while its runner made no statement. */
const CONNECTION_TROUBLE =
  /ECONN|EPIPE|ETIMEDOUT|Connection terminated|timeout (?:exceeded|expired)|read timeout|not connected|not established|not queryable|runner already released/i;

interface Said {
  readonly code: string;
  /** What it was about; of a row it names the place, in any language. */
  readonly where?: string;
  /** The function of Postgres that has said it. */
  readonly routine?: string;
}

/** What the database has said, wherever TypeORM has wrapped it; undefined for any other error. */
function saidBy(error: unknown): (Error & Said) | undefined {
  for (const cause of errorChain(error)) {
    const { code } = cause as { code?: unknown };
    const isSaid = typeof code === 'string' && SQLSTATE.test(code) && !wrappedBy(cause);
    if (isSaid) return cause as Error & Said;
  }
  return undefined;
}

/** An error and what has caused it, wherever TypeORM has wrapped it. */
export const errorChain = (error: unknown): Generator<Error> =>
  causesOf(error, (one) => wrappedBy(one) ?? one.cause);

function wrappedBy(error: Error): Error | undefined {
  const { driverError } = error as { driverError?: unknown };
  return types.isNativeError(driverError) ? driverError : undefined;
}

/** The SQLSTATE of a database error, wherever TypeORM has wrapped it; undefined for any other. */
export function sqlStateOf(error: unknown): string | undefined {
  return saidBy(error)?.code;
}

/**
 * True when a statement ran into its time limit, or was canceled by hand. The caller cannot tell
 * an overloaded server from a statement that is too large, so each decides for itself.
 */
export function isCanceledStatement(error: unknown): boolean {
  return sqlStateOf(error) === QUERY_CANCELED;
}

/** True when others were at the same rows: nothing is wrong with the statement, nor with the server. */
export function isContention(error: unknown): boolean {
  return CONTENTION.has(sqlStateOf(error) ?? '');
}

/** True when a lock was waited for as long as that may take: who holds it may go on to do so. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === LOCK_NOT_AVAILABLE;
}

const ROW = /\(\d+,\d+\)/;
/** Of a wait that has ended; who asks with NOWAIT hears it from elsewhere. */
const WAITED = 'ProcessInterrupts';

/** Of a wait for one Postgres does not say what it was for. */
const ASKS_FOR_ADVISORY = /\bpg_advisory_/;

/** What Postgres has said as of a table, and was of a row. */
const OF_ROWS = new WeakSet<Error>();

/** From here on this error of a wait counts as that of a row. */
export function waitedForRow(error: unknown): void {
  const said = saidBy(error);
  if (said) OF_ROWS.add(said);
}

/**
 * True when the lock that was waited for is on no row, and no advisory one, but on a table, as CREATE INDEX or
 * ALTER TABLE has one. Of a row that many wait for it is false once {@link waitedForRow} has said so.
 */
export function isTableLocked(error: unknown): boolean {
  const said = saidBy(error);
  if (said?.code !== LOCK_NOT_AVAILABLE || said.routine !== WAITED) return false;
  if (OF_ROWS.has(said)) return false;
  return !ROW.test(said.where ?? '') && !ASKS_FOR_ADVISORY.test(sentBefore(error) ?? '');
}

/** The statement that this is an error of, where TypeORM has said it. */
function sentBefore(error: unknown): string | undefined {
  for (const cause of causesOf(error)) {
    const { query } = cause as { query?: unknown };
    if (typeof query === 'string') return query;
  }
  return undefined;
}

/** True where several statements were sent as one: Postgres has done none of them. */
export function isOfSeveralStatements(error: unknown): boolean {
  const said = saidBy(error);
  return said?.code === SYNTAX_ERROR && said.routine === PREPARES;
}

/**
 * True where all who ask for the same would fail alike: nothing that one of them asked for has caused it, or nobody
 * has time to find out who did, as where each try stands still.
 */
export function isEverybodys(error: unknown): boolean {
  return isInfrastructureError(error) || isTableLocked(error) || error instanceof StoodStillError;
}

/**
 * True where Postgres has no transaction ID left: it reads, and writes nothing until somebody has
 * vacuumed what keeps the oldest ones.
 */
export function isOutOfTransactionIds(error: unknown): boolean {
  const said = saidBy(error);
  return said?.code === LIMIT_EXCEEDED && GIVE_IDS.test(said.routine ?? '');
}

/**
 * True when the database is away, full, overloaded or lets us not in, a canceled statement included: nothing
 * that a caller sent has caused it.
 */
export function isInfrastructureError(error: unknown): boolean {
  if (error instanceof OthersTroubleError) return false;
  const state = sqlStateOf(error);
  if (state !== undefined)
    return INFRASTRUCTURE_CLASSES.test(state) || isOutOfTransactionIds(error);
  // Node's own errors are of another realm under some test runners, where `instanceof` fails.
  if (!types.isNativeError(error)) return false;
  const code = (error as { code?: unknown }).code;
  const said = `${typeof code === 'string' ? code : ''} ${wordsOf(error)}`;
  return [CONNECTION_TROUBLE, NOT_REACHED, TLS_TROUBLE].some((trouble) => trouble.test(said));
}

/** A login or a database that Postgres does not know. */
const NOT_LET_IN = /^(28|3D000)/;

/** True where somebody has to mend the address, the login or a certificate before anybody is let in. */
export function isNotLetIn(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return NOT_LET_IN.test(state);
  const { code, message } = Object(error) as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  return TLS_TROUBLE.test(`${String(code)} ${String(message)}`);
}

/** By a restart, a failover or an operator; or Postgres is about to be there. */
const SESSION_ENDED = /^57P0[123]$/;
/** By node-postgres, by TypeORM and by the system, of one that was open. */
const CUT =
  /ECONNRESET|EPIPE|Connection terminated (?:unexpectedly|within)|not queryable|already released/;

/** True where Postgres was there and has ended a session, or takes none for now. */
export function isSessionEnded(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return SESSION_ENDED.test(state);
  return isInfrastructureError(error) && CUT.test(String(error));
}

const TOO_MANY_CONNECTIONS = '53300';

/** True where Postgres is there, and others have all connections that it, a database or its user may have. */
export function isOutOfConnections(error: unknown): boolean {
  return sqlStateOf(error) === TOO_MANY_CONNECTIONS;
}

/** What a session is ended with, and what a pooler says of one that it has lost: perhaps behind the COMMIT. */
const ENDED_AT_COMMIT = /^(08|57P)/;
/** By node-postgres and by TypeORM, of a connection that they know to be lost. */
const UNSENT = /not queryable|runner already released/;

/**
 * True where a COMMIT that failed so may have been carried out all the same. Whatever else Postgres
 * says itself undoes the transaction.
 */
export function mayHaveCommitted(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return ENDED_AT_COMMIT.test(state);
  return isInfrastructureError(error) && !UNSENT.test(String(error));
}
