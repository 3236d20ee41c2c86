import { queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Check, finding, ok } from './check';

/** Of 2,147 million; autovacuum goes after them from 200 million on, unless something keeps old rows. */
const LIMIT = 1_000_000_000;

const KEEPERS = `
  SELECT format('replication slot %s', quote_literal(slot_name)) AS name,
         greatest(age(xmin), age(catalog_xmin)) AS age FROM pg_replication_slots
  UNION ALL
  SELECT format('prepared transaction %s of database %s', quote_literal(gid), database), age(transaction)
    FROM pg_prepared_xacts
  UNION ALL
  SELECT concat_ws(' ', 'session', pid, 'of database ' || datname), age(backend_xmin)
    FROM pg_stat_activity WHERE pid <> pg_backend_pid()`;

/**
 * Whether Postgres has transaction IDs left: without any it writes nothing ("wraparound"). `limit`: so many since the oldest
 * that is still needed are too many.
 */
export async function examineTransactionIds(dataSource: DataSource, limit = LIMIT): Promise<Check> {
  const [row] = await queryRows<{ used: number; keeper: string | null }>(
    dataSource,
    `SELECT (SELECT max(greatest(age(datfrozenxid), mxid_age(datminmxid))) FROM pg_database) AS used,
            (SELECT name FROM (${KEEPERS}) AS k
              WHERE age > $1 / 2 ORDER BY age DESC LIMIT 1) AS keeper`,
    [limit],
  );
  const { used = 0, keeper } = row ?? {};
  const detail = `${Math.round(used / 1_000_000)} of 2147 million in use`;
  if (used <= limit) return ok('postgres', 'transaction IDs', detail);
  const fix = keeper
    ? 'end it, or drop the slot (pg_drop_replication_slot): autovacuum goes on then'
    : 'see why autovacuum gets nowhere; VACUUM (FREEZE) in each database, as a superuser';
  return finding(
    'postgres',
    'transaction IDs',
    keeper ? `${detail}, kept by ${keeper}` : detail,
    `${fix}: with none left nothing is written any more`,
  );
}
