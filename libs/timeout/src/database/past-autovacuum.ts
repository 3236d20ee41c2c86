/** Within it Postgres has ended a vacuum, once it has found that somebody waits for it. */
const ENDED_WITHIN_MS = 500;

/**
 * As an SQL value, milliseconds: who waits so long for a table's lock has Postgres end an autovacuum that
 * holds it. Postgres looks who stands in the way after `deadlock_timeout` (a second, by default), and
 * lets an autovacuum go on, for hours, beside those who never wait so long.
 */
export const PAST_AUTOVACUUM_MS = `(
  SELECT setting::int + ${ENDED_WITHIN_MS} FROM pg_settings WHERE name = 'deadlock_timeout')`;
