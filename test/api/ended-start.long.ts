import { Client } from 'pg';
import { migrateDatabase } from '../../apps/api/src/migrate-database';
import { type ApiProcess, startApiProcess } from '../support/api-process';
import { asMigrating, createTestDatabase, type TestDatabase } from '../support/database';
import { takeRedisDatabase } from '../support/redis';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { until } from '../support/until';

// A process takes seconds to start on a busy machine.
jest.setTimeout(120_000);

const OF_OURS = `datname = current_database() AND application_name LIKE 'lastcall%'`;
const WAITING = `${OF_OURS} AND wait_event_type = 'Lock'`;

describe('a process that starts while Postgres ends its sessions, as a failover does, or has none left', () => {
  let database: TestDatabase;
  let postgres: TcpProxy;
  let operator: Client;
  let holder: Client;
  let api: ApiProcess;
  let said: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    await migrateDatabase(asMigrating(database.url), { seed: true });
    postgres = await startTcpProxy(database.appUrl);
    operator = new Client({ connectionString: database.url });
    holder = new Client({ connectionString: database.url });
    await Promise.all([operator.connect(), holder.connect()]);
  });
  afterEach(async () => {
    await api.stop();
    // Of a test that has failed.
    await holder.query('ROLLBACK');
  });
  afterAll(async () => {
    await Promise.all([operator?.end(), holder?.end()]);
    await postgres?.close();
    await database?.drop();
  });

  async function start(): Promise<void> {
    api = startApiProcess({ DATABASE_URL: postgres.url, REDIS_URL: await takeRedisDatabase() });
    said = '';
    api.child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  }

  /** Starts it, and has it wait for a table that it needs: else it might be through before anybody has looked. */
  async function startHeld(): Promise<void> {
    await holder.query('BEGIN; LOCK TABLE lastcall.installation');
    await start();
  }

  /** While the process lives: asked as fast as Postgres answers, so that no session is there for long unseen. */
  async function meanwhile(what: string, look: () => Promise<boolean>): Promise<void> {
    let isOver = false;
    void api.ended.then(() => (isOver = true));
    await until(what, async () => {
      for (let looks = 0; looks < 50; looks++) if (isOver || (await look())) return true;
      return false;
    });
  }

  it('starts once it has ended a dozen of them, and says what it waits for', async () => {
    await startHeld();
    let ended = 0;
    const end = async (which: string): Promise<number> => {
      const { rowCount } = await operator.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${which}`,
      );
      return (ended += rowCount ?? 0);
    };
    await meanwhile('one that waits is ended', async () => (await end(WAITING)) > 0);
    await holder.query('ROLLBACK');
    await meanwhile('so many are ended', async () => (await end(OF_OURS)) >= 12);
    expect(await api.listening).toMatch(/^http:/);
    expect(said).toContain('Waiting for Postgres, which has ended a session that the start needs');
  });

  it('starts once Postgres is back, where it was away for a while', async () => {
    await startHeld();
    await meanwhile('it has connected', async () => {
      const { rowCount } = await operator.query(`SELECT FROM pg_stat_activity WHERE ${WAITING}`);
      return (rowCount ?? 0) > 0;
    });
    await postgres.cut();
    await meanwhile('it waits', async () => said.includes('Waiting for Postgres'));
    await holder.query('ROLLBACK');
    await postgres.restore();
    expect(await api.listening).toMatch(/^http:/);
  });

  it('starts once others have given connections back, where they had all of them', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const allow = (connections: number) =>
      operator.query(`ALTER DATABASE ${name} CONNECTION LIMIT ${connections}`);
    await allow(0);
    await start();
    await meanwhile('it waits', async () => said.includes('Waiting for Postgres'));
    expect(said).toMatch(/which has no connection left for it .*: too many connections/);
    await allow(-1);
    expect(await api.listening).toMatch(/^http:/);
  });
});
