/** What ends a session, its transaction or its statement; some came with later versions of Postgres. */
const LIMITS = [
  'statement_timeout',
  'transaction_timeout',
  'idle_session_timeout',
  'idle_in_transaction_session_timeout',
] as const;

/**
 * A statement that lifts limits of its session, which a server, database or user may have of their own: for
 * what takes as long as it takes (all of them), or stands still on purpose, as whoever holds a lock of the
 * session does.
 */
export const lifting = (...limits: readonly (typeof LIMITS)[number][]): string => {
  const names = (limits.length > 0 ? limits : LIMITS).map((name) => `'${name}'`);
  return `SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN (${names.join(', ')})`;
};
