import { queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Check, expectation, finding, ok, warning } from './check';

/** xid8 and pg_current_xact_id, which the event relay reads by, came with 13. */
const OLDEST_VERSION = 13;

/** How the server is, and its settings that matter to us. */
export async function examineServer(dataSource: DataSource): Promise<Check[]> {
  const [row] = await queryRows<{
    version: number;
    version_text: string;
    fsync: string;
    sync: string;
    max: number;
    used: number;
    standby: boolean;
    read_only: boolean;
    encoding: string;
    autovacuum: string;
    counts: string;
  }>(
    dataSource,
    `SELECT current_setting('server_version_num')::int / 10000 AS version,
            current_setting('server_version') AS version_text,
            current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS sync,
            current_setting('max_connections')::int AS max,
            (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
            pg_is_in_recovery() AS standby, current_setting('transaction_read_only')::boolean AS read_only,
            current_setting('server_encoding') AS encoding,
            current_setting('autovacuum') AS autovacuum, current_setting('track_counts') AS counts`,
  );
  if (!row) return [];
  const isDurable = row.fsync === 'on' && row.sync !== 'off';
  return [
    expectation(
      'postgres',
      'version',
      row.version >= OLDEST_VERSION,
      row.version_text,
      `upgrade to ${OLDEST_VERSION} or newer`,
    ),
    writes(row),
    row.encoding === 'UTF8'
      ? ok('postgres', 'encoding', row.encoding)
      : warning(
          'postgres',
          'encoding',
          row.encoding === 'SQL_ASCII'
            ? 'SQL_ASCII: bytes are kept as they come, whatever characters they are of'
            : `${row.encoding}: what is written with a character that it has not is refused, as a reason or a notice may be`,
          "move to a database made with TEMPLATE template0 ENCODING 'UTF8'",
        ),
    expectation(
      'postgres',
      'durability',
      isDurable,
      `fsync ${row.fsync}, synchronous_commit ${row.sync}`,
      'turn both on: an order that was answered must survive a crash',
    ),
    expectation(
      'postgres',
      'autovacuum',
      row.autovacuum === 'on' && row.counts === 'on',
      `autovacuum ${row.autovacuum}, track_counts ${row.counts}`,
      'turn both on, also for this user and database: without them deleted rows stay, and all gets slower for ever',
    ),
    expectation(
      'postgres',
      'connections',
      row.used < row.max * 0.8,
      `${row.used} of ${row.max} in use`,
      'raise max_connections, or run fewer processes (30 to 46 connections each)',
    ),
  ];
}

function writes({
  standby,
  read_only: isReadOnly,
}: {
  readonly standby: boolean;
  readonly read_only: boolean;
}): Check {
  if (!standby && isReadOnly) {
    return finding(
      'postgres',
      'primary',
      'takes no writes: default_transaction_read_only is on for this user or database',
      'ALTER ROLE (or DATABASE) ... RESET default_transaction_read_only, once what it was set for is over: a full disk, ' +
        'as some who host Postgres do',
    );
  }
  const detail = standby ? 'this is a read-only standby' : 'takes writes';
  return expectation('postgres', 'primary', !standby, detail, 'point DATABASE_URL at the primary');
}
