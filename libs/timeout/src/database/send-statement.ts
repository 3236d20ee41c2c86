import { createHash } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Writable } from 'node:stream';
import type { CustomTypesConfig, DatabaseError } from 'pg';
import { QueryFailedError, type QueryRunner } from 'typeorm';
import { sqlStateOf } from './database-errors';
import { ofOwnConnection } from './own-connection';

/** What we use of node-postgres, which TypeORM hands out untyped. */
export interface Connection extends Pick<EventEmitter, 'on' | 'off'> {
  query(statement: Statement): Promise<{ rows: unknown[] }>;
  end(): Promise<void>;
  readonly connection?: Pick<EventEmitter, 'on' | 'off'> & {
    readonly stream?: Pick<Writable, 'cork' | 'uncork'>;
  };
}

export interface Statement {
  /** Named statements are parsed once a connection. */
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
  /** Takes one statement only. */
  readonly queryMode?: 'extended';
  /** How its values are taken apart; default: as its connection does. */
  readonly types?: CustomTypesConfig;
  /** How long node-postgres waits for its answer, in milliseconds; default: as its connection does. */
  readonly query_timeout?: number;
}

const names = new Map<string, string>();

/** The name by which each connection keeps this text. */
export function nameOf(sql: string): string {
  const known = names.get(sql);
  if (known) return known;
  // The same in every process, as a pooler in between may share connections among them.
  const name = `lastcall_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`;
  names.set(sql, name);
  return name;
}

/**
 * Past TypeORM's query(), whose events and logging cost more than many a statement of ours. `before`
 * is sent right before the statement, without waiting for its answer.
 */
export async function send<T>(
  runner: QueryRunner,
  statement: Statement,
  before?: string,
): Promise<T[]> {
  const connection = (await runner.connect()) as Connection;
  try {
    if (before === undefined) return (await connection.query(statement)).rows as T[];
    const stream = connection.connection?.stream;
    // In one packet, where connections are pipelined.
    stream?.cork();
    const both = [{ text: before, values: [] }, statement].map((one) => connection.query(one));
    stream?.uncork();
    // Both have to have answered: the first one's error is what tells why.
    await Promise.allSettled(both);
    const [, answer] = await Promise.all(both);
    return answer?.rows as T[];
  } catch (error) {
    ofOwnConnection(error);
    const failure = new QueryFailedError(statement.text, statement.values, error as Error);
    // Whoever it is connected to has become a standby: the pool, asked again, finds the primary. And a
    // session that Postgres has ended is nobody's from now on, though its end may not have been read yet.
    const state = sqlStateOf(failure) ?? '';
    const isOver = (error as DatabaseError).severity === 'FATAL' || ENDED.test(state);
    if (isOver || state === READ_ONLY) void connection.end();
    throw failure;
  }
}

/** Has the pool open another one in its place, once it is given back. */
export async function discardConnection(runner: QueryRunner): Promise<void> {
  if (runner.isReleased) return;
  const connection = (await runner.connect()) as Connection;
  void connection.end();
}

/**
 * To what it was when it began, by its start-up options and what its role and database say. The encoding is said
 * again: behind a pooler the session began as somebody else's, and node-postgres reads UTF-8.
 */
const RESET = `RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; SET client_encoding TO 'UTF8'`;

/** Ends what others have set for the session. Nobody waits for it: whoever has this connection next is behind it. */
export async function resetSession(runner: QueryRunner): Promise<void> {
  if (runner.isReleased) return;
  const connection = (await runner.connect()) as Connection;
  connection.query({ text: RESET, values: [] }).catch(() => connection.end());
}

/** A write on a standby, as after a failover that left the connection alive. */
const READ_ONLY = '25006';
/**
 * By somebody's command, a crash, a drop of the database, or a limit of the session's own: a severity is said
 * in the language of the server.
 */
const ENDED = /^(57P0[1-5]|25P0[34])$/;
