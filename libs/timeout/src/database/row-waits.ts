import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { isTableLocked, waitedForRow } from './database-errors';
import { LOCKS_OUT } from './lock-holders';
import { withTimeLimit } from '../time-limit';

/** Who is refused waits so much longer for the answer at the most. */
const ASKS_FOR_MS = 250;

/** One question at a time is for all that have waited in vain meanwhile. */
const ASKED = new WeakMap<DataSource, Promise<boolean>>();

/**
 * Postgres tells of the row only to the first of those who wait for it: those behind wait in its queue, and hear no
 * more than who waits for a table. So it is asked whether there is a lock on a table at all, and where there is none,
 * this error counts as one of a row from here on ({@link isTableLocked}). Where others wait for a connection it stays
 * what it is: nobody's is to be had for a question, and who has waited in vain is to make room for them at once.
 * @see https://github.com/postgres/postgres/blob/master/src/backend/access/heap/README.tuplock
 */
export async function learnWhatWaited(dataSource: DataSource, error: unknown): Promise<void> {
  if (!isTableLocked(error) || isWaitedFor(dataSource)) return;
  let asked = ASKED.get(dataSource);
  if (!asked) {
    asked = withTimeLimit(askForTables(dataSource), ASKS_FOR_MS, 'Not told of locks')
      .catch(() => true)
      .finally(() => ASKED.delete(dataSource));
    ASKED.set(dataSource, asked);
  }
  if (!(await asked)) waitedForRow(error);
}

/** Whether somebody waits for one of these connections. */
function isWaitedFor({ driver }: DataSource): boolean {
  const { master } = driver as unknown as { readonly master?: Pool };
  return (master?.waitingCount ?? 0) > 0;
}

async function askForTables(dataSource: DataSource): Promise<boolean> {
  const runner = dataSource.createQueryRunner();
  try {
    const [row] = (await runner.query(ANY_TABLE, [LOCKS_OUT])) as { is_locked: boolean }[];
    return row?.is_locked ?? true;
  } finally {
    await runner.release();
  }
}

/** Also one that is waited for: all others wait behind it. */
const ANY_TABLE = `SELECT EXISTS (
  SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
   WHERE l.locktype = 'relation' AND l.mode = ANY ($1::text[]) AND c.relkind IN ('r', 'p')
     AND c.relnamespace <> 'pg_catalog'::regnamespace AND l.pid <> pg_backend_pid()
     AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
 ) AS is_locked`;
