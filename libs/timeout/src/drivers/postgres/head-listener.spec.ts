import { Client } from 'pg';
import { createTestDatabase } from '../../../../../test/support/database';
import { limitSessions } from '../../../../../test/support/limit-sessions';
import { until } from '../../../../../test/support/until';
import { HeadListener } from './head-listener';

it('hears for longer than a session of the database may stand still', async () => {
  const database = await createTestDatabase();
  const other = new Client({ connectionString: database.url });
  const errors: Error[] = [];
  const listener = new HeadListener({
    connection: { connectionString: database.url, application_name: 'listens' },
    queue: 'orders',
    notify: (channel, payload) => other.query('SELECT pg_notify($1, $2)', [channel, payload]),
    onHead: () => undefined,
    onError: (error) => void errors.push(error),
  });
  try {
    await other.connect();
    await other.query(`SELECT set_config('idle_session_timeout', '0', false)
                         FROM pg_settings WHERE name = 'idle_session_timeout'`);
    await limitSessions(database.url, { idle_session_timeout: '500ms' });
    listener.start();
    await until('it hears', () => listener.isHearing);
    await until('it has stood still for longer, or has not', async () => {
      const { rowCount } = await other.query(
        `SELECT FROM pg_stat_activity
          WHERE application_name = 'listens' AND now() - state_change > interval '1 s'`,
      );
      return rowCount === 1 || errors.length > 0;
    });
    expect(errors).toEqual([]);
  } finally {
    listener.stop();
    await other.end();
    await database.drop();
  }
});
