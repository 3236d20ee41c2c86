import { isTableLocked, readMigrations } from '@app/timeout';
import type { DataSource } from 'typeorm';
import type { Config } from '../config';
import { createDataSource } from '../data-source';

/** The first tables of the order module, and those of a host's deadlines. */
const ORDERS = 'Orders1763600001000';
export const SUBJECTS = 'TimeoutSubjects1763701500000';

/**
 * True for a shop that has deadlines or close targets alone: no settings, Redis or providers of ours are to
 * be looked at.
 */
export const isOfDeadlines = (done: ReadonlySet<string>): boolean =>
  !done.has(ORDERS) && done.has(SUBJECTS);

/**
 * True where these connections lead to a shop that has deadlines or close targets alone; false also where
 * somebody has locked the list of migrations.
 */
export async function leadsToDeadlinesAlone(dataSource: DataSource): Promise<boolean> {
  try {
    return isOfDeadlines(await readMigrations(dataSource));
  } catch (error) {
    // Who has locked it, whatever is done next tells.
    if (isTableLocked(error)) return false;
    throw error;
  }
}

/** True for a configuration that leads to such a shop; false also where Postgres cannot be reached. */
export async function hasDeadlinesAlone(config: Config): Promise<boolean> {
  const dataSource = createDataSource(config, 'lastcall doctor', 1);
  try {
    await dataSource.initialize();
  } catch {
    // Why it cannot be reached, examinePostgres tells.
    return false;
  }
  try {
    return await leadsToDeadlinesAlone(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
