import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { checked } from './checked-connections';
import { CommitUnknownError } from './commit';
import { connectInTurn } from './connect-in-turn';
import { PoolerRefusalError, TransactionPoolingError } from '../errors';
import { inTransaction } from './in-transaction';
import { discardConnection } from './send-statement';
import { startUpOptions } from './session-settings';

/** What PgBouncer says to a session that comes with `options`, unless it is told to ignore them. */
const REFUSAL = /unsupported startup parameter|unsupported options startup parameter/i;

/** True where no database is away: a pooler before it refuses what our sessions ask for. */
export function isRefusedByPooler(error: unknown): boolean {
  return error instanceof Error && REFUSAL.test(error.message);
}

const BACKEND = 'SELECT pg_backend_pid() AS pid';
type Backend = [{ readonly pid: number }];
/** A pooler that others use at this very moment may give back the same session by chance. */
const LOOKS = 5;

/**
 * True where what stands before Postgres gives each transaction another session, as transaction pooling
 * does. Takes two connections.
 */
export async function isTransactionPooled(dataSource: DataSource): Promise<boolean> {
  const idle = dataSource.createQueryRunner();
  const idles = (): Promise<Backend> => idle.query(BACKEND) as Promise<Backend>;
  try {
    for (let looks = 0; looks < LOOKS; looks++) {
      const [before] = await idles();
      const isShared = await inTransaction(dataSource, async (tx) => {
        const [taken] = await tx.rows<Backend[0]>(BACKEND);
        const [after] = await idles();
        return taken?.pid === before.pid || after.pid !== before.pid;
      }).catch(lostWithoutLoss);
      if (isShared) return true;
    }
    return false;
  } finally {
    await idle.release();
  }
}

/** Nothing was changed by who has only looked: what became of that is no question to anybody. */
function lostWithoutLoss(error: unknown): never {
  throw error instanceof CommitUnknownError ? error.cause : error;
}

/**
 * Opens the connections of this and returns it.
 * @param reached is called once the first of them is open
 * @throws {PoolerRefusalError}
 */
export async function openSessions(
  dataSource: DataSource,
  reached: () => void = () => undefined,
): Promise<DataSource> {
  try {
    await dataSource.initialize();
    reached();
  } catch (error) {
    throw isRefusedByPooler(error) ? new PoolerRefusalError(String(error)) : error;
  }
  const { master } = dataSource.driver as unknown as { readonly master: Pool };
  connectInTurn(master);
  return checked(dataSource, () => liftLimitsOfOthers(dataSource, master));
}

/** Both end sessions. The first came with Postgres 17, the second with 14. */
const OF_OTHERS = ['transaction_timeout', 'idle_session_timeout'];

/**
 * What a database, or its user, sets for everybody's sessions ends none of ours: they have limits of their own.
 * By start-up options, which stay when a session is reset; an older Postgres refuses those that it does not know.
 */
async function liftLimitsOfOthers(dataSource: DataSource, { options }: Pool): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    const known = (await runner.query(
      `SELECT name, setting FROM unnest($1::text[]) AS name, current_setting(name, true) AS setting
        WHERE setting IS NOT NULL`,
      [OF_OTHERS],
    )) as { readonly name: string; readonly setting: string }[];
    const lifted = startUpOptions(Object.fromEntries(known.map(({ name }) => [name, 0])));
    // What the address says itself stands behind it, and wins.
    options.options = `${lifted} ${options.options ?? ''}`;
    if (known.some(({ setting }) => setting !== '0')) await discardConnection(runner);
  } finally {
    await runner.release();
  }
}

/**
 * The same, whose connections have sessions of their own; it has two of them at the least.
 * @throws {TransactionPoolingError} where they have not; what it was given is closed then
 */
export const withOwnSessions = (dataSource: DataSource): Promise<DataSource> =>
  checked(dataSource, async () => {
    if (await isTransactionPooled(dataSource)) throw new TransactionPoolingError();
  });
