import { Client } from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { untilLocksAreWaitedFor } from '../../../../test/support/lock-waits';
import { takeMigrationTurn } from './migration-turn';

describe('the turn of who migrates', () => {
  let database: TestDatabase;
  let other: Client;
  let dataSource: DataSource;
  let runner: QueryRunner;
  const told: string[] = [];
  const tell = (text: string): void => void told.push(text);

  beforeEach(async () => {
    told.length = 0;
    database = await createTestDatabase();
    other = new Client({ connectionString: database.url, application_name: 'deploy 41' });
    await other.connect();
    dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
    runner = dataSource.createQueryRunner();
    await other.query('SELECT pg_advisory_lock(7126354001)');
  });
  afterEach(async () => {
    await runner.release();
    await Promise.all([dataSource.destroy(), other.end()]);
    await database.drop();
  });

  it('is given up where somebody keeps it, and both are told who does', async () => {
    const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const holder = new RegExp(`${rows[0]?.pid} "deploy 41" since \\d{4}-\\d\\d-\\d\\dT`);
    const patience = { tell, waitMs: 20, waits: 3 };
    await expect(takeMigrationTurn(runner, patience)).rejects.toMatchObject({
      code: 'migration_under_way',
      message: expect.stringMatching(holder) as string,
    });
    expect(told).toEqual([expect.stringMatching(holder), expect.stringMatching(holder)]);
    expect(await runner.query('SHOW lock_timeout')).toEqual([{ lock_timeout: '0' }]);
  });

  it('comes as soon as the other one has ended, and nobody hears of a short wait', async () => {
    const taking = takeMigrationTurn(runner, { tell });
    await untilLocksAreWaitedFor(other, 1);
    await other.query('SELECT pg_advisory_unlock_all()');
    await taking;
    expect(told).toEqual([]);
    const { rows } = await other.query('SELECT pg_try_advisory_lock(7126354001) AS free');
    expect(rows).toEqual([{ free: false }]);
  });
});
