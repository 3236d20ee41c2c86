import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { startPostgres } from '../../scripts/services/index.mjs';
import { until } from './until';

/** A page in a tenth of a second: hours for a table of gigabytes. No ANALYZE, which would be as slow, and before it. */
const SLOWLY = `autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1,
  autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0,
  autovacuum_analyze_threshold = 2147483647`;

/** What Postgres knows of a table, and what autovacuum is at. */
const INSTEAD = `
  SELECT n_live_tup, n_dead_tup, n_ins_since_vacuum, last_autovacuum, autovacuum_count, now(),
         (SELECT array_agg(query) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker') AS workers
    FROM pg_stat_user_tables WHERE relid = $1::regclass`;

/** A Postgres of a test's own, whose autovacuum looks for work every second. */
export interface VacuumingServer {
  readonly url: string;
  /**
   * Makes dead rows in a table by this statement. Resolves when autovacuum is at it, and will be for minutes: it
   * was told to be slow before there was anything to do, or it might be done by then.
   */
  vacuumSlowly(table: string, statement: string): Promise<void>;
  close(): Promise<void>;
}

export async function startVacuumingServer(): Promise<VacuumingServer> {
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-autovacuum-'));
  // Root's servers run as somebody else.
  chmodSync(folder, 0o711);
  const server = await startPostgres({
    dataDir: join(folder, 'data'),
    logFile: join(folder, 'postgres.log'),
    password: 'secret',
    durable: false,
    settings: { autovacuum_naptime: '1s' },
  });
  const pool = new Pool({ connectionString: server.url });
  // Its idle connections die with the server, as they should.
  pool.on('error', () => undefined);
  return {
    url: server.url,
    async vacuumSlowly(table, statement) {
      await pool.query(`ALTER TABLE ${table} SET (${SLOWLY})`);
      await pool.query(statement);
      const isAtIt = async (): Promise<boolean> => {
        const sql = 'SELECT FROM pg_stat_progress_vacuum WHERE relid = $1::regclass';
        return (await pool.query(sql, [table])).rowCount === 1;
      };
      await until(`autovacuum is at ${table}`, isAtIt).catch(async (cause: Error) => {
        const { rows } = await pool.query(INSTEAD, [table]);
        throw new Error(`${cause.message}; instead: ${JSON.stringify(rows)}`, { cause });
      });
    },
    async close() {
      await pool.end();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
