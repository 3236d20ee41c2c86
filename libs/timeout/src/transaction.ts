import { type DataSource, QueryFailedError, type QueryRunner } from 'typeorm';

/** What this file uses of node-postgres, which TypeORM hands out untyped. */
interface Connection {
  query(
    statement: string | { name?: string; text: string; values: unknown[] },
  ): Promise<{ command: string; rows: unknown[] }>;
}

/**
 * One database transaction, handed to everything that must commit or vanish together.
 * What may only happen once it is durable (an alarm, a nudge, a metric) is an `afterCommit` hook.
 */
export class Transaction {
  readonly #hooks: (() => void)[] = [];

  constructor(private readonly connection: Connection) {}

  /** Runs one statement; `params` fill `$1..$n`. Returns its rows, those of `RETURNING` included. */
  rows<T>(sql: string, params: readonly unknown[] = []): Promise<T[]> {
    return run(this.connection, { text: sql, values: [...params] });
  }

  /**
   * {@link rows} for the few statements that run all the time: each connection parses them once
   * and soon keeps their plan. `sql` must be one of a bounded number of texts.
   */
  hot<T>(sql: string, params: readonly unknown[]): Promise<T[]> {
    return run(this.connection, { name: nameOf(sql), text: sql, values: [...params] });
  }

  /** Runs `hook` after a successful commit; it must not throw and nobody waits for it. */
  afterCommit(hook: () => void): void {
    this.#hooks.push(hook);
  }

  committed(): void {
    for (const hook of this.#hooks) hook();
  }
}

const names = new Map<string, string>();

function nameOf(sql: string): string {
  const known = names.get(sql);
  if (known) return known;
  const name = `lastcall_${names.size + 1}`;
  names.set(sql, name);
  return name;
}

/** Past TypeORM's query(), whose events and logging cost more than many a statement of ours. */
async function run<T>(
  connection: Connection,
  statement: { name?: string; text: string; values: unknown[] },
): Promise<T[]> {
  try {
    return (await connection.query(statement)).rows as T[];
  } catch (error) {
    throw new QueryFailedError(statement.text, statement.values, error as Error);
  }
}

/** Errors after which the same transaction, begun anew, may well succeed. */
const TRANSIENT_SQLSTATES = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available
]);

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
      if (isLast || !isTransient(error)) throw error;
      await pause(Math.random() * RETRY_BASE_MS * 2 ** attempt);
    }
  }
}

async function attemptTransaction<T>(
  dataSource: DataSource,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return withConnection(dataSource, async (connection) => {
    await run(connection, { text: 'BEGIN ISOLATION LEVEL READ COMMITTED', values: [] });
    try {
      const tx = new Transaction(connection);
      const result = await work(tx);
      const { command } = await connection.query('COMMIT');
      // Postgres answers so when a statement failed and `work` went on as if nothing were wrong.
      if (command !== 'COMMIT') throw new Error('The transaction had failed and was rolled back');
      tx.committed();
      return result;
    } catch (error) {
      // A connection that broke cannot roll back; the first error is the one that tells why.
      await connection.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  });
}

/** One statement outside any transaction. Same contract as {@link Transaction.rows}. */
export function queryRows<T>(
  dataSource: DataSource,
  sql: string,
  params: readonly unknown[] = [],
): Promise<T[]> {
  return withConnection(dataSource, (connection) =>
    run(connection, { text: sql, values: [...params] }),
  );
}

async function withConnection<T>(
  dataSource: DataSource,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const runner: QueryRunner = dataSource.createQueryRunner();
  try {
    return await work((await runner.connect()) as Connection);
  } finally {
    await runner.release();
  }
}

/** The SQLSTATE of a database error, wherever TypeORM has wrapped it; undefined for any other. */
export function sqlStateOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error;) {
    const { code, driverError } = cause as { code?: unknown; driverError?: unknown };
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return code;
    cause = driverError instanceof Error ? driverError : (cause.cause as Error);
  }
  return undefined;
}

function isTransient(error: unknown): boolean {
  return TRANSIENT_SQLSTATES.has(sqlStateOf(error) ?? '');
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
