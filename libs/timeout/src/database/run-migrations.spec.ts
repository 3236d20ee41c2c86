import { Pool, type PoolClient } from 'pg';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { untilLocksAreWaitedFor } from '../../../../test/support/lock-waits';
import { runMigrations } from './run-migrations';

class Tables1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE near (id int); CREATE TABLE far (id int)');
  }
  async down(): Promise<void> {}
}
class Before1700000000002 extends Tables1700000000001 {
  override up = async (runner: QueryRunner): Promise<void> =>
    void (await runner.query('ALTER TABLE far ADD COLUMN before int'));
}
class Broken1700000000004 extends Tables1700000000001 {
  override up = async (runner: QueryRunner): Promise<void> =>
    void (await runner.query('ALTER TABLE nobodys ADD COLUMN at timestamptz'));
}
class Column1700000000003 extends Tables1700000000001 {
  override up = async (runner: QueryRunner): Promise<void> =>
    void (await runner.query('ALTER TABLE near ADD COLUMN at timestamptz'));
}

describe('runMigrations beside a session that reads a table for long', () => {
  let database: TestDatabase;
  let pool: Pool;
  let reader: PoolClient;
  let dataSource: DataSource;

  const open = (migrations: (new () => MigrationInterface)[]): Promise<DataSource> =>
    new DataSource({ type: 'postgres', url: database.url, migrations }).initialize();

  beforeEach(async () => {
    database = await createTestDatabase();
    const first = await open([Tables1700000000001]);
    await runMigrations(first);
    await first.destroy();
    pool = new Pool({ connectionString: database.url, application_name: 'reports' });
    reader = await pool.connect();
    await reader.query('BEGIN; SELECT FROM near');
    dataSource = await open([Tables1700000000001, Before1700000000002, Column1700000000003]);
  });
  afterEach(async () => {
    reader.release();
    await Promise.all([dataSource.destroy(), pool.end()]);
    await database.drop();
  });

  it('lets others use the table that it waits for, and ends when it is free', async () => {
    const migrating = runMigrations(dataSource);
    await untilLocksAreWaitedFor(pool, 1);
    // Behind whoever waits for the table, which has to give up first.
    await pool.query(`BEGIN; SET LOCAL lock_timeout = '10s'; SELECT FROM near; COMMIT`);
    await reader.query('COMMIT');
    expect(await migrating).toEqual(['Before1700000000002', 'Column1700000000003']);
    expect(await runMigrations(dataSource)).toEqual([]);
  });

  it('gives up and says who holds it, keeps what is done, and goes on from there', async () => {
    const { rows } = await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await expect(runMigrations(dataSource, { attempts: 2 })).rejects.toMatchObject({
      code: 'locked_tables',
      message: expect.stringContaining(`(${rows[0]?.pid} "reports" since 20`) as string,
    });
    await reader.query('COMMIT');
    expect(await runMigrations(dataSource)).toEqual(['Column1700000000003']);
  });

  it('tells who holds it while it waits, and says of nothing that it failed', async () => {
    const { rows } = await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const printed = jest.spyOn(console, 'log').mockImplementation();
    const freed: Promise<unknown>[] = [];
    const told: string[] = [];
    const tell = (text: string): void => {
      told.push(text);
      freed.push(reader.query('COMMIT'));
    };
    expect(await runMigrations(dataSource, { tell, tellEvery: 1 })).toHaveLength(2);
    await Promise.all(freed);
    const holder = `Waiting for others who use our tables: ${rows[0]?.pid} "reports" since 20`;
    expect(told).toEqual([expect.stringContaining(holder)]);
    expect(printed.mock.calls).toEqual([]);
    printed.mockRestore();
  });

  it('names the migration that fails for good', async () => {
    const told: string[] = [];
    const broken = await open([Tables1700000000001, Broken1700000000004]);
    const running = runMigrations(broken, { tell: (text) => void told.push(text) });
    await expect(running).rejects.toThrow('relation "nobodys" does not exist');
    expect(told).toEqual([expect.stringContaining('"Broken1700000000004" failed')]);
    await broken.destroy();
  });
});
