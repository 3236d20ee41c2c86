/** What node-postgres reads from an address, and has nothing to do with where it leads. */
const OF_SESSIONS = [
  'options',
  'application_name',
  'query_timeout',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
];

/**
 * An address of Postgres without what it says of its sessions (`?options=-c ...`,
 * `?statement_timeout=...`), and its start-up options: node-postgres prefers an address to what a
 * pool says beside it, so ours would be lost.
 */
export function sessionAddress(address: string): { url: string; options: string | undefined } {
  if (!URL.canParse(address)) return { url: address, options: undefined };
  const url = new URL(address);
  const options = url.searchParams.get('options') ?? undefined;
  if (!OF_SESSIONS.some((name) => url.searchParams.has(name))) return { url: address, options };
  for (const name of OF_SESSIONS) url.searchParams.delete(name);
  return { url: url.href, options };
}

/**
 * How values are written and statements are read in each session of ours, whatever the database's, or the
 * role's, own way is: as node-postgres takes them apart, and as our SQL is meant. Dates keep the order of
 * day and month that the database has: nothing of ours is written so that it mattered.
 */
export const UNDERSTOOD = {
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  // Less rounds instants, as they are read in milliseconds since the epoch.
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  quote_all_identifiers: 'off',
} as const;

/**
 * How soon Postgres ends the session of a machine that is gone, or cut off, without a goodbye. Left to itself it keeps one
 * that is idle for two hours, until `max_connections` is reached; and one that it is sending an answer to for a quarter of
 * an hour, with all that its transaction holds. Longer than a statement may take.
 */
export const PEER_LIMITS = {
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 2,
  tcp_user_timeout: 20_000,
} as const;

/** Settings of Postgres as a session's start-up options; those that are named again later win. */
export const startUpOptions = (settings: Readonly<Record<string, string | number>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${String(value).replace(/[\\ ]/g, '\\$&')}`)
    .join(' ');
