import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource, type QueryRunner } from 'typeorm';
import { startPostgres } from '../../../scripts/services/index.mjs';
import { until } from '../../../test/support/until';
import { runMigrations } from './run-migrations';

class Column1700000000001 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE large ADD COLUMN at timestamptz');
  }
  async down(): Promise<void> {}
}

/** A page in a tenth of a second: hours, as of a table of terabytes. */
const SLOWLY = `autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1,
  autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0`;

describe('runMigrations beside autovacuum', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-autovacuum-'));
  let server: Awaited<ReturnType<typeof startPostgres>>;
  let dataSource: DataSource;

  beforeAll(async () => {
    // Root's servers run as somebody else.
    chmodSync(folder, 0o711);
    server = await startPostgres({
      dataDir: join(folder, 'data'),
      logFile: join(folder, 'postgres.log'),
      password: 'secret',
      durable: false,
      settings: { autovacuum: 'on', autovacuum_naptime: '1s' },
    });
    dataSource = await new DataSource({
      type: 'postgres',
      url: server.url,
      migrations: [Column1700000000001],
    }).initialize();
  });
  afterAll(async () => {
    await dataSource?.destroy();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const vacuums = (): Promise<unknown[]> =>
    dataSource.query<unknown[]>(
      `SELECT FROM pg_stat_progress_vacuum WHERE relid = 'large'::regclass`,
    );

  it('has one end that would take hours', async () => {
    await dataSource.query(
      `CREATE TABLE large AS SELECT i, repeat('x', 500) AS t FROM generate_series(1, 200000) AS i`,
    );
    await dataSource.query('CREATE INDEX ON large (i)');
    await dataSource.query(`ALTER TABLE large SET (${SLOWLY})`);
    await dataSource.query('DELETE FROM large WHERE i % 2 = 0');
    await until('it is at the table', async () => (await vacuums()).length === 1);
    expect(await runMigrations(dataSource, { attempts: 5 })).toEqual(['Column1700000000001']);
  });
});
