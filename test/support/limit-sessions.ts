import { onServer } from './database';

/** Has a database's sessions begin with these limits, as far as its Postgres knows them. */
export async function limitSessions(
  databaseUrl: string,
  limits: Readonly<Record<string, string>>,
): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  await onServer(databaseUrl, async (server) => {
    for (const [limit, value] of Object.entries(limits)) {
      const known = await server.query('SELECT FROM pg_settings WHERE name = $1', [limit]);
      if (known.rowCount === 1)
        await server.query(`ALTER DATABASE ${name} SET ${limit} = '${value}'`);
    }
  });
}
