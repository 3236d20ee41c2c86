import { queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Check, finding, ok } from './check';

interface Unusable {
  readonly name: string;
  /** With its schema, for whoever has another path. */
  readonly place: string;
  readonly isBeingBuilt: boolean;
}

/** What REINDEX CONCURRENTLY builds beside an index, or has replaced: its original is valid. */
const BESIDE_ITS_ORIGINAL = /_cc(?:new|old)\d*"?$/;

/** An index that was being built when something broke is there and is not used. */
export async function examineIndexes(dataSource: DataSource): Promise<Check> {
  const rows = await queryRows<Unusable>(
    dataSource,
    // Which table somebody builds for is not told to others; who holds a lock on it is.
    `SELECT indexrelid::regclass::text AS name,
            format('%I.%I', current_schema(), c.relname) AS place,
            EXISTS (SELECT FROM pg_stat_progress_create_index p JOIN pg_locks l ON l.pid = p.pid
                     WHERE l.relation = i.indrelid AND l.granted
                       AND l.mode = 'ShareUpdateExclusiveLock') AS "isBeingBuilt"
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE NOT (i.indisvalid AND i.indisready) AND c.relnamespace = current_schema()::regnamespace
      ORDER BY 1`,
  );
  const left = rows.filter(({ isBeingBuilt }) => !isBeingBuilt);
  if (rows.length === 0) return ok('postgres', 'indexes', 'all valid');
  if (left.length === 0) return ok('postgres', 'indexes', `being built: ${namesOf(rows)}`);
  const fix = left.map(mend).join('; ');
  return finding('postgres', 'indexes', `not valid: ${namesOf(left)}`, fix);
}

const namesOf = (rows: readonly Unusable[]): string => rows.map(({ name }) => name).join(', ');

function mend({ place }: Unusable): string {
  const isLeftOver = BESIDE_ITS_ORIGINAL.test(place);
  return `${isLeftOver ? 'DROP' : 'REINDEX'} INDEX CONCURRENTLY ${place}`;
}
