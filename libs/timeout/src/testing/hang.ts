import type { QueryRunner } from 'typeorm';
import type { DeadlineStore } from './deadline-store';

/** A session that is at one statement, and will be. Ends it, for the session to go on, when called. */
export async function hang(
  session: QueryRunner,
  store: DeadlineStore,
): Promise<() => Promise<void>> {
  const [{ pid }] = (await session.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
  const statement = session.query('SELECT pg_sleep(600)').catch(() => undefined);
  return async () => {
    await store.rows('SELECT pg_cancel_backend($1)', [pid]);
    await statement;
  };
}
