import { LOCKS_OUT, queryRows, type Session, sessionText } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Check, expectation } from './check';

/** What we hold ourselves for a moment is nothing to be told of. */
const LASTS_FROM_MS = 1_000;

interface Locking extends Session {
  readonly table: string;
  readonly isGranted: boolean;
  /** Those whom it waits for itself. */
  readonly behind: readonly number[];
}

/** Who has locked a whole table of ours, as CREATE INDEX, ALTER TABLE and VACUUM FULL do. */
export async function examineTableLocks(dataSource: DataSource): Promise<Check> {
  const rows = await queryRows<Locking>(
    dataSource,
    `SELECT DISTINCT c.relname AS table, l.pid, a.application_name AS name, a.xact_start AS since,
            l.granted AS "isGranted",
            CASE WHEN l.granted THEN '{}' ELSE pg_blocking_pids(l.pid) END AS behind
       FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
       LEFT JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.locktype = 'relation' AND l.mode = ANY ($1::text[]) AND c.relkind IN ('r', 'p')
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND c.relnamespace = current_schema()::regnamespace
        AND coalesce(a.xact_start <= clock_timestamp() - $2 * interval '1 millisecond', true)
      ORDER BY 1, "isGranted" DESC, l.pid`,
    [LOCKS_OUT, LASTS_FROM_MS],
  );
  const holders = rows.flatMap(({ pid, isGranted, behind }) => (isGranted ? [pid] : behind));
  const pids = [...new Set(holders)].join(' or ');
  return expectation(
    'postgres',
    'table locks',
    rows.length === 0,
    rows.length === 0 ? 'none' : rows.map(textOf).join('; '),
    'wait for the end of what it does (CREATE INDEX, ALTER TABLE, VACUUM FULL), or end it: ' +
      `SELECT pg_terminate_backend(${pids})`,
  );
}

function textOf({ table, isGranted, behind, ...session }: Locking): string {
  const waits = isGranted ? '' : `, which waits for ${behind.join(', ')}`;
  return `${table}: ${sessionText(session)}${waits}`;
}
