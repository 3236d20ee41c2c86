import type { DataSource } from 'typeorm';
import { keyOfTurns } from './batch-entry';
import { queryRows } from '../database/query-rows';

/** Many times what a statement of a batch takes. */
const GOES_ON_WITHIN_MS = 5_000;
/** Postgres ends a transaction that stands still between two statements: one that is late is not ended any more. */
const ENDED_WITHIN_MS = 1_000;

/** How many batches of a kind all processes have under way. */
export interface BatchesUnderWay {
  readonly goingOn: number;
  /**
   * Of a session that has been at one statement for seconds, or stands still between two for longer than it may, as its
   * process is stopped or its disk silent.
   */
  readonly hanging: number;
}

export async function batchesUnderWay(
  dataSource: DataSource,
  kind: string,
): Promise<BatchesUnderWay> {
  const [row] = await readBatches(dataSource, [kind]);
  const { all = 0, hanging = 0 } = row ?? {};
  return { goingOn: all - hanging, hanging };
}

/** Those of these kinds of which some process has a batch under way. */
export async function kindsUnderWay(
  dataSource: DataSource,
  kinds: readonly string[],
): Promise<string[]> {
  return (await readBatches(dataSource, kinds)).map(({ kind }) => kind);
}

interface BatchesRow {
  readonly kind: string;
  readonly all: number;
  readonly hanging: number;
}

/** For how long a session of ours may; NULL: for ever. */
const STANDS_STILL_MS = `(SELECT nullif(setting, '0')::int FROM pg_settings
   WHERE name = 'idle_in_transaction_session_timeout')`;

/** A session of which we may not know that goes on. */
function readBatches(dataSource: DataSource, kinds: readonly string[]): Promise<BatchesRow[]> {
  return queryRows<BatchesRow>(
    dataSource,
    // Of a lock by two numbers; an oid has no sign.
    `SELECT kind, count(*)::int AS all, count(*) FILTER (
              WHERE a.state_change < clock_timestamp() - interval '1 millisecond' * CASE a.state
                WHEN 'active' THEN $2 ELSE ${STANDS_STILL_MS} + $3 END)::int AS hanging
       FROM unnest($1::text[]) AS kind
       JOIN pg_locks AS l ON l.classid::bigint = ${keyOfTurns('kind')}::bigint & 4294967295
       LEFT JOIN pg_stat_activity AS a USING (pid)
      WHERE l.locktype = 'advisory' AND l.objsubid = 2
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      GROUP BY kind`,
    [kinds, GOES_ON_WITHIN_MS, ENDED_WITHIN_MS],
  );
}
