import { type Session, sessionText } from './session-text';

/** Whoever has one of a table, or waits for it, has all others wait who change what is in the table. */
export const LOCKS_OUT: readonly string[] = [
  'ShareLock',
  'ShareRowExclusiveLock',
  'ExclusiveLock',
  'AccessExclusiveLock',
];

interface Asks {
  query(sql: string, params: unknown[]): Promise<unknown>;
}

/**
 * Five at the most of the sessions that hold a lock on tables of a schema, those that began first before the
 * others. `schema`: default: where the session that asks finds its tables; `modes`: default: any.
 */
export async function lockHolders(
  sql: Asks,
  { schema, modes }: { readonly schema?: string | undefined; readonly modes?: readonly string[] },
): Promise<string[]> {
  const rows = (await sql.query(
    `SELECT DISTINCT l.pid, a.application_name AS name, a.xact_start AS since
       FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
       LEFT JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.granted AND l.pid <> pg_backend_pid()
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND c.relnamespace = to_regnamespace(quote_ident(coalesce($1, current_schema())))
        AND ($2::text[] IS NULL OR l.mode = ANY ($2::text[]))
      ORDER BY since, l.pid LIMIT 5`,
    [schema ?? null, modes ?? null],
  )) as Session[];
  return rows.map(sessionText);
}
