import { queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Check, ok, warning } from './check';

const GIGABYTE = 2 ** 30;

/**
 * Whether a replication slot that nobody reads keeps Postgres from forgetting its log, which fills its disk. `limit`:
 * bytes that are too many.
 */
export async function examineSlots(dataSource: DataSource, limit = GIGABYTE): Promise<Check> {
  const rows = await queryRows<{ name: string; bytes: string }>(
    dataSource,
    `SELECT quote_literal(slot_name) AS name, bytes
       FROM (SELECT slot_name,
                    pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                                         ELSE pg_current_wal_insert_lsn() END, restart_lsn) AS bytes
               FROM pg_replication_slots WHERE NOT active) AS unread
      WHERE bytes > $1 ORDER BY bytes DESC`,
    [limit],
  );
  if (rows.length === 0) return ok('postgres', 'replication slots', 'none keeps much unread');
  const each = rows.map(({ name, bytes }) => `${name} ${(Number(bytes) / GIGABYTE).toFixed(1)} GB`);
  const drop = rows.map(({ name }) => `SELECT pg_drop_replication_slot(${name})`).join('; ');
  return warning(
    'postgres',
    'replication slots',
    `nobody reads them, and they keep what was written: ${each.join(', ')}`,
    `start who reads them again; where nobody will: ${drop}. The disk of Postgres fills else: max_slot_wal_keep_size limits that`,
  );
}
