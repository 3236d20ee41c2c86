import { Client } from 'pg';
import { migrateDatabase } from '../../apps/api/src/migrate-database';
import { type ApiProcess, startApiProcess } from '../support/api-process';
import { asMigrating, createTestDatabase, type TestDatabase } from '../support/database';
import { takeRedisDatabase } from '../support/redis';
import { until } from '../support/until';

// A process takes seconds to start on a busy machine.
jest.setTimeout(120_000);

describe('a process that starts while tables of ours are locked', () => {
  let database: TestDatabase;
  let holder: Client;
  let api: ApiProcess | undefined;

  beforeAll(async () => {
    database = await createTestDatabase();
    await migrateDatabase(asMigrating(database.url), { seed: true });
    holder = new Client({ connectionString: database.url, application_name: 'nightly repack' });
    await holder.connect();
  });
  afterEach(async () => {
    await api?.stop();
    // Of a test that has failed.
    await holder.query('ROLLBACK');
  });
  afterAll(async () => {
    await holder?.end();
    await database?.drop();
  });

  /** As VACUUM FULL has one for minutes; the answer lets go. */
  async function lock(tables: readonly string[]): Promise<void> {
    await holder.query('BEGIN');
    await holder.query(`LOCK TABLE ${tables.map((table) => `lastcall.${table}`).join(', ')}`);
  }

  async function allTables(): Promise<string[]> {
    const { rows } = await holder.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
          AND relnamespace = 'lastcall'::regnamespace ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  }

  it.each([
    ['the one that says who it is', () => ['installation']],
    ['those that are looked at before anything is served', () => ['payments', 'products']],
    ['that of deadlines', () => ['near_deadlines']],
    ['all of them', allTables],
  ])('waits for %s, says for whom, and starts once they are free', async (_, tables) => {
    await lock(await tables());
    let said = '';
    api = startApiProcess({ DATABASE_URL: database.appUrl, REDIS_URL: await takeRedisDatabase() });
    api.child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    let end: unknown;
    void api.ended.then((ended) => (end = ended));
    await until('it says for whom it waits', () => {
      if (end) throw new Error(`It has ended: ${JSON.stringify(end)}`);
      return said.includes('nightly repack');
    });
    expect(said).toMatch(/Waiting for who has locked tables that the start needs: \d+ "nightly/);
    await holder.query('COMMIT');
    const url = await api.listening;
    const ready = () => fetch(`${url}/health/ready`).then(({ status }) => status === 200);
    await until('it is ready', ready);
  });
});
