import { DataSource, type QueryRunner } from 'typeorm';
import {
  startVacuumingServer,
  type VacuumingServer,
} from '../../../../test/support/vacuuming-server';
import { runMigrations } from './run-migrations';

class Column1700000000001 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE large ADD COLUMN at timestamptz');
  }
  async down(): Promise<void> {}
}

describe('runMigrations beside autovacuum', () => {
  let server: VacuumingServer;
  let dataSource: DataSource;
  beforeAll(async () => {
    server = await startVacuumingServer();
    const migrations = [Column1700000000001];
    dataSource = await new DataSource({
      ...{ type: 'postgres', url: server.url, migrations },
    }).initialize();
  });
  afterAll(async () => {
    await dataSource?.destroy();
    await server?.close();
  });

  it('has one end that would take hours', async () => {
    await dataSource.query(
      `CREATE TABLE large AS SELECT i, repeat('x', 500) AS t FROM generate_series(1, 200000) AS i`,
    );
    await dataSource.query('CREATE INDEX ON large (i)');
    await server.vacuumSlowly('large', 'DELETE FROM large WHERE i % 2 = 0');
    expect(await runMigrations(dataSource, { attempts: 5 })).toEqual(['Column1700000000001']);
  });
});
