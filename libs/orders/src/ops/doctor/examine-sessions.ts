import { isTransactionPooled, queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { LIMITS, SESSION } from '../../data-source';
import { type Check, finding, ok } from './check';

/** As `replica` no trigger fires, which only a superuser can set: that an order has payments would not be kept. */
const TRIGGERS = { session_replication_role: 'origin' };

/**
 * Whether our connections have sessions of their own, and in them what they asked for when they began: a
 * pooler may drop that, and an address may say otherwise. A limit may be another, but there has to be
 * one. Takes two connections.
 */
export async function examineSessions(dataSource: DataSource): Promise<Check> {
  if (await isTransactionPooled(dataSource)) {
    return finding(
      'postgres',
      'sessions',
      'a pooler gives each transaction another session (pool_mode = transaction): nothing can start here',
      'let it pool sessions (PgBouncer: pool_mode = session), or connect to Postgres itself',
    );
  }
  const rows = await queryRows<{ name: string; setting: string }>(
    dataSource,
    'SELECT name, current_setting(name) AS setting FROM unnest($1::text[]) AS name',
    [Object.keys({ ...SESSION, ...LIMITS, ...TRIGGERS })],
  );
  const wanted = new Map<string, string>(Object.entries({ ...SESSION, ...TRIGGERS }));
  const others = rows.filter(({ name, setting }) => !isAs(setting, wanted.get(name)));
  const unlimited = rows.filter(({ name, setting }) => name in LIMITS && setting === '0');
  const wrong = [...others, ...unlimited].map(({ name, setting }) => `${name} = ${setting}`);
  if (wrong.length === 0) return ok('postgres', 'sessions', 'have our settings and limits');
  return finding(
    'postgres',
    'sessions',
    `do not have what they ask for: ${wrong.join(', ')}`,
    'take it out of the options in DATABASE_URL; behind a pooler that drops start-up options, set it for ' +
      'the user (ALTER ROLE ... SET ...): docs/operations.md, "Postgres"',
  );
}

/** Of several parts (`DateStyle` is `ISO, DMY`), the first is what is asked for. */
const isAs = (setting: string, wanted: string | undefined): boolean =>
  wanted === undefined || setting === wanted || setting.startsWith(`${wanted}, `);
