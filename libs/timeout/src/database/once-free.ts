import type { DataSource } from 'typeorm';
import { isTableLocked } from './database-errors';
import { lockHolders, LOCKS_OUT } from './lock-holders';
import { onceBack } from './once-back';
import { startAgain } from './start-again';

/**
 * A read without which a process does not start, again and again while somebody has locked a table that it
 * needs, as VACUUM FULL has one for minutes, or while Postgres has gone away.
 * @throws what the read does; that a table is locked, or Postgres away, after five minutes only
 */
export function onceFree<T>(dataSource: DataSource, read: () => Promise<T>): Promise<T> {
  const says = async (): Promise<string> => {
    const holders = await lockHolders(dataSource, { modes: LOCKS_OUT });
    const named = holders.join('; ') || 'they have just ended';
    return `Waiting for who has locked tables that the start needs: ${named}`;
  };
  const readFree = (): Promise<T> =>
    startAgain(read, (error) => (isTableLocked(error) ? says : undefined));
  return onceBack(readFree, { wasThere: true });
}
