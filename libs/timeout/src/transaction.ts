import type { DataSource, EntityManager, QueryRunner } from 'typeorm';

/**
 * One database transaction, handed to everything that must commit or vanish together.
 * What may only happen once it is durable (an alarm, a nudge, a metric) is an `afterCommit` hook.
 */
export class Transaction {
  readonly #hooks: (() => void)[] = [];

  constructor(
    readonly manager: EntityManager,
    private readonly runner: QueryRunner,
  ) {}

  /** Runs one statement; `params` fill `$1..$n`. Returns its rows, those of `RETURNING` included. */
  async rows<T>(sql: string, params: readonly unknown[] = []): Promise<T[]> {
    const result = await this.runner.query(sql, params as unknown[], true);
    return (result.records ?? []) as T[];
  }

  /** Runs `hook` after a successful commit; it must not throw and nobody waits for it. */
  afterCommit(hook: () => void): void {
    this.#hooks.push(hook);
  }

  committed(): void {
    for (const hook of this.#hooks) hook();
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
  const runner = dataSource.createQueryRunner();
  try {
    await runner.startTransaction('READ COMMITTED');
    const tx = new Transaction(runner.manager, runner);
    const result = await work(tx);
    await runner.commitTransaction();
    tx.committed();
    return result;
  } catch (error) {
    // A connection that broke cannot roll back; the first error is the one that tells why.
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  } finally {
    await runner.release();
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
    const result = await runner.query(sql, params as unknown[], true);
    return (result.records ?? []) as T[];
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
