import { migrate } from '@app/orders';
import { Client } from 'pg';
import { asMigrating, createTestDatabase, type TestDatabase } from '../../../test/support/database';
import { limitSessions } from '../../../test/support/limit-sessions';
import { startTcpProxy } from '../../../test/support/tcp-proxy';
import { until } from '../../../test/support/until';
import { ADVISORY_LOCKS } from './order/advisory-locks';

const [FIRST, LATER] = ['Deadlines1763600000000', 'AlarmsByInstant1764040000000'];

describe('migrate', () => {
  let database: TestDatabase;
  beforeEach(async () => (database = await createTestDatabase()));
  afterEach(() => database.drop());

  it('takes as long as it takes, in a database whose sessions may last for a moment', async () => {
    await limitSessions(database.url, {
      transaction_timeout: '200ms',
      idle_session_timeout: '500ms',
    });
    await expect(migrate(asMigrating(database.url))).resolves.not.toEqual([]);
    expect(await migrate(asMigrating(database.url))).toEqual([]);
  });

  it('leaves no table that a publication of all tables would keep from being changed', async () => {
    await migrate(asMigrating(database.url));
    const server = new Client(database.url);
    await server.connect();
    const { rows } = await server.query(
      `SELECT relname FROM pg_class
        WHERE relkind IN ('r', 'p') AND relnamespace = 'lastcall'::regnamespace
          AND NOT EXISTS (SELECT FROM pg_index
                           WHERE indrelid = pg_class.oid AND (indisprimary OR indisreplident))`,
    );
    await server.end();
    expect(rows).toEqual([]);
  });

  it('waits for Postgres where that ends its session, and names all that it has run', async () => {
    const postgres = await startTcpProxy(database.url);
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
    try {
      postgres.loseCommit(/CREATE TABLE orders/);
      const names = await migrate(asMigrating(postgres.url));
      expect(names).toEqual(expect.arrayContaining([FIRST, LATER]));
      expect(warned).toHaveBeenCalledWith(expect.stringContaining('Waiting for Postgres'));
    } finally {
      warned.mockRestore();
      await postgres.close();
    }
  });

  it('waits for another who migrates for longer than statements may take there', async () => {
    await limitSessions(database.url, { statement_timeout: '200ms' });
    const other = new Client(database.url);
    await other.connect();
    await other.query('SET statement_timeout = 0');
    await other.query(`SELECT pg_advisory_lock(${ADVISORY_LOCKS.migrate})`);
    let isOver = false;
    const migrating = migrate(asMigrating(database.url)).finally(() => (isOver = true));
    const waitsForLong = `SELECT FROM pg_stat_activity WHERE datname = current_database()
       AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '400 ms'`;
    await until(
      'it waits, or has given up',
      async () => isOver || (await other.query(waitsForLong)).rowCount === 1,
    );
    await other.end();
    await expect(migrating).resolves.not.toEqual([]);
  });
});
