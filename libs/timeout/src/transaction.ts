import { createHash } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Writable } from 'node:stream';
import { type DataSource, type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import type { Clock } from './clock';
import { isContention, sqlStateOf } from './database-errors';
import { pause } from './pause';
import { Savepoint } from './savepoint';
import { unattended } from './unattended';

/** What this file uses of node-postgres, which TypeORM hands out untyped. */
interface Connection {
  query(statement: Statement): Promise<{ rows: unknown[] }>;
  end(): Promise<void>;
  readonly connection?: Pick<EventEmitter, 'on' | 'off'> & {
    readonly stream?: Pick<Writable, 'cork' | 'uncork'>;
  };
}

interface Statement {
  /** Named statements are parsed once a connection. */
  readonly name?: string;
  readonly text: string;
  readonly values: unknown[];
  /** How long node-postgres waits for its answer, in milliseconds; default: as its connection does. */
  readonly query_timeout?: number;
}

/** Postgres gives a statement up by itself; whoever waits for the answer waits a little longer. */
const ANSWERS_WITHIN_MS = 1_000;

/**
 * One database transaction, handed to everything that must commit or vanish together.
 * What may only happen once it is durable (an alarm, a nudge, a metric) is an `afterCommit` hook.
 */
export class Transaction {
  readonly #hooks: (() => Promise<void>)[] = [];
  #hasFailed = false;
  #savepoint: Savepoint | undefined;
  #hasLentManager = false;
  #answerLimit: Pick<Statement, 'query_timeout'> = {};

  constructor(private readonly runner: QueryRunner) {}

  /** TypeORM's, in this transaction. What fails by it is heard of with the next {@link rows} only. */
  get manager(): EntityManager {
    this.#hasLentManager = true;
    return this.runner.manager;
  }

  /**
   * From here on a statement of this transaction may take so long, in milliseconds, whatever the limits
   * of its connection are.
   */
  async limit(limitMs: number): Promise<void> {
    await this.rows(`SET LOCAL statement_timeout = ${limitMs}`);
    this.#answerLimit = { query_timeout: limitMs + ANSWERS_WITHIN_MS };
  }

  /**
   * Runs `work` so that its failure undoes what it did, hooks included, and nothing else. Costs no
   * round trip: the savepoint, and what undoes a failure, are sent together with the next statement.
   */
  async attempt<T>(work: () => Promise<T>): Promise<T> {
    const hooks = this.#hooks.length;
    const savepoint = (this.#savepoint ??= new Savepoint());
    savepoint.begin();
    try {
      const result = await work();
      this.assertSound();
      savepoint.end();
      return result;
    } catch (error) {
      savepoint.rollBack();
      this.#hasFailed = false;
      this.#hooks.length = hooks;
      // The next statement may be one of TypeORM's, which does not come by here.
      if (this.#hasLentManager) await this.settle();
      throw error;
    }
  }

  /**
   * As {@link attempt}, also within one and where the work goes by TypeORM; not within itself. Costs two
   * round trips.
   */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    const hooks = this.#hooks.length;
    await this.rows('SAVEPOINT aside');
    try {
      const result = await work();
      // Also hears of a failure that the work went on from.
      await this.rows('RELEASE SAVEPOINT aside');
      return result;
    } catch (error) {
      await this.rows('ROLLBACK TO SAVEPOINT aside');
      this.#hasFailed = false;
      this.#hooks.length = hooks;
      throw error;
    }
  }

  /** Sends what is still owed to the database, where no statement of {@link rows} follows. */
  async settle(): Promise<void> {
    const owed = this.#savepoint?.owed();
    if (owed) await run(this.runner, { text: owed, values: [] });
  }

  /** Runs one statement; `params` fill `$1..$n`. Returns its rows, those of `RETURNING` included. */
  rows<T>(sql: string, params: readonly unknown[] = []): Promise<T[]> {
    return this.#run({ text: sql, values: [...params] });
  }

  /**
   * {@link rows} for the few statements that run all the time: each connection parses them once
   * and soon keeps their plan. `sql` must be one of a bounded number of texts.
   */
  hot<T>(sql: string, params: readonly unknown[]): Promise<T[]> {
    return this.#run({ name: nameOf(sql), text: sql, values: [...params] });
  }

  async #run<T>(statement: Statement): Promise<T[]> {
    try {
      return await run(
        this.runner,
        { ...statement, ...this.#answerLimit },
        this.#savepoint?.beforeStatement(),
      );
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    }
  }

  /**
   * Ends the connection, where somebody may still be at work in this transaction: nothing of it is
   * committed, and what comes late is refused. Resolves once the database has let go of it.
   */
  async abandon(): Promise<void> {
    await ((await this.runner.connect()) as Connection).end();
  }

  /**
   * `heard` is called where Postgres ends the session because this transaction makes no statement: of
   * a lost connection nobody says that. Returns what ends the listening.
   */
  async onStandstill(heard: () => void): Promise<() => void> {
    // Past the client, which gives what is said to a statement, if one has just been sent.
    const { connection } = (await this.runner.connect()) as Connection;
    const hear = ({ code }: { readonly code?: string }): void => {
      if (code === STOOD_STILL) heard();
    };
    connection?.on('errorMessage', hear);
    return () => connection?.off('errorMessage', hear);
  }

  /**
   * Runs `hook` after a successful commit; nobody waits for it. What it throws or rejects with is told
   * by `failed` and changes nothing: what is committed stands, and the other hooks run.
   */
  afterCommit(hook: () => unknown, failed: (error: unknown) => void = warn): void {
    this.#hooks.push(() => unattended(hook, failed));
  }

  /** Postgres would answer a COMMIT after a failed statement by quietly rolling back. */
  assertSound(): void {
    if (this.#hasFailed)
      throw new Error('A statement has failed: nothing of this can be committed');
  }

  committed(): void {
    for (const hook of this.#hooks) void hook();
  }
}

const warn = (error: unknown): void =>
  process.emitWarning(`What follows a commit has failed: ${String(error)}`);

const names = new Map<string, string>();

function nameOf(sql: string): string {
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
async function run<T>(runner: QueryRunner, statement: Statement, before?: string): Promise<T[]> {
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
    const failure = new QueryFailedError(statement.text, statement.values, error as Error);
    // Whoever it is connected to has become a standby: the pool, asked again, finds the primary.
    if (sqlStateOf(failure) === READ_ONLY) void connection.end();
    throw failure;
  }
}

/** `idle_in_transaction_session_timeout` has passed. */
const STOOD_STILL = '25P03';
/** A write on a standby, as after a failover that left the connection alive. */
const READ_ONLY = '25006';

const MAX_ATTEMPTS = 5;
const RETRY_BASE_MS = 10;
/** No attempt begins later: whoever has waited for a lock this long is told so, not kept waiting. */
const RETRY_WITHIN_MS = 2_500;

/**
 * Runs `work` in one READ COMMITTED transaction and commits it. Serialization failures,
 * deadlocks and lock timeouts roll the whole of it back and run it again, with jitter, up to
 * five times and for a few seconds: `work` must have no effect outside the transaction but
 * through `afterCommit`.
 */
export async function inTransaction<T>(
  dataSource: DataSource,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const startedMs = performance.now();
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptTransaction(dataSource, work);
    } catch (error) {
      const isLast = attempt >= MAX_ATTEMPTS || performance.now() - startedMs > RETRY_WITHIN_MS;
      if (isLast || !isContention(error)) throw error;
      await pause(Math.random() * RETRY_BASE_MS * 2 ** attempt);
    }
  }
}

async function attemptTransaction<T>(
  dataSource: DataSource,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  const tx = new Transaction(runner);
  let result: T;
  try {
    // READ COMMITTED by the connection's settings: naming it here would be one more round trip.
    await runner.startTransaction();
    result = await work(tx);
    tx.assertSound();
    await tx.settle();
    await runner.commitTransaction();
  } catch (error) {
    // A connection that broke cannot roll back; the first error is the one that tells why.
    const isLost = runner.isReleased;
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
    throw isLost ? new ConnectionLostError(error) : error;
  } finally {
    await runner.release();
  }
  tx.committed();
  return result;
}

/** The connection ended within a transaction, as where Postgres has found it idle for too long. */
export class ConnectionLostError extends Error {
  constructor(cause: unknown) {
    // Read by isInfrastructureError, as what node-postgres itself says of it would be.
    super('Connection terminated within a transaction', { cause });
  }
}

/** One statement outside any transaction. Same contract as {@link Transaction.rows}. */
export async function queryRows<T>(
  dataSource: DataSource,
  sql: string,
  params: readonly unknown[] = [],
): Promise<T[]> {
  const runner = dataSource.createQueryRunner();
  try {
    return await run(runner, { text: sql, values: [...params] });
  } finally {
    await runner.release();
  }
}

/** One statement, and the instants by `clock` between which it was under way. */
export async function timedRows<T>(
  dataSource: DataSource,
  clock: Clock,
  sql: string,
): Promise<{ readonly rows: T[]; readonly sentAtMs: number; readonly answeredAtMs: number }> {
  const runner = dataSource.createQueryRunner();
  try {
    // Waiting for a connection is no part of it.
    await runner.connect();
    const sentAtMs = clock.nowMs();
    const rows = await run<T>(runner, { text: sql, values: [] });
    return { rows, sentAtMs, answeredAtMs: clock.nowMs() };
  } finally {
    await runner.release();
  }
}
