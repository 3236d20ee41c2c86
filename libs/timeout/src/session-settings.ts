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

/** Settings of Postgres as a session's start-up options; those that are named again later win. */
export const startUpOptions = (settings: Readonly<Record<string, string | number>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${String(value).replace(/[\\ ]/g, '\\$&')}`)
    .join(' ');
