import type { ClientBase, Pool } from 'pg';
import { until } from './until';

/** Resolves once so many sessions of the database wait for somebody's lock. */
export function untilLocksAreWaitedFor(sql: Pool | ClientBase, count: number): Promise<unknown> {
  return until(`${count} wait for a row`, async () => {
    // In a transaction it would look among those sessions alone that were there at its first look.
    await sql.query('SELECT pg_stat_clear_snapshot()');
    const { rowCount } = await sql.query(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount === count;
  });
}
