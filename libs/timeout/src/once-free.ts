import type { DataSource } from 'typeorm';
import { isTableLocked } from './database-errors';
import { lockHolders, LOCKS_OUT } from './lock-holders';
import { pause } from './pause';
import { warn } from './warn';

const PAUSE_MS = 1_000;
/** As long as a migration waits. */
const WAITS_FOR_MS = 5 * 60_000;
const TELLS_EVERY_MS = 10_000;

/**
 * A read without which a process does not start, again and again while somebody has locked a table that it
 * needs, as VACUUM FULL has one for minutes. A process that ended instead would be started again later and later,
 * and be away for long after the table is free. Whom it waits for is told as a warning of the process.
 * @throws what the read does; that a table is locked after five minutes only
 */
export async function onceFree<T>(dataSource: DataSource, read: () => Promise<T>): Promise<T> {
  const begunMs = performance.now();
  let toldMs = -Infinity;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      const nowMs = performance.now();
      if (!isTableLocked(error) || nowMs - begunMs > WAITS_FOR_MS) throw error;
      if (nowMs - toldMs >= TELLS_EVERY_MS) {
        toldMs = nowMs;
        const holders = await lockHolders(dataSource, { modes: LOCKS_OUT });
        const named = holders.join('; ') || 'they have just ended';
        warn(`Waiting for who has locked tables that the start needs: ${named}`);
      }
    }
    await pause(PAUSE_MS);
  }
}
