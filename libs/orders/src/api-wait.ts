import { queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';

/** What the API's connections are called in pg_stat_activity. */
export const API_CONNECTIONS_NAME = 'lastcall api';

/**
 * How long the API's longest transaction of this moment has been under way, in milliseconds; 0 when
 * none is. It waits for all that a drain could make it wait for in Postgres: rows, commits, cores.
 * Sees the sessions of this application's own role.
 */
export async function longestApiTransactionMs(dataSource: DataSource): Promise<number> {
  const [row] = await queryRows<{ ms: string | null }>(
    dataSource,
    `SELECT 1000 * max(extract(epoch FROM clock_timestamp() - xact_start)) AS ms
       FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()`,
    [API_CONNECTIONS_NAME],
  );
  return Number(row?.ms ?? 0);
}
