import { findPlace } from './connections';
import { migratePlace } from './migrate-timeouts';
import type { TimeoutModuleOptions } from './timeout-options';

/**
 * Makes the schema and its tables, or brings them up to date: for a step of the deployment, by a
 * user who may, where the application itself may not (`migrate: false`). Safe to repeat.
 * Returns the names of the migrations that were run now.
 */
export async function migrateTimeouts({
  postgres,
  schema = 'lastcall',
}: Pick<TimeoutModuleOptions, 'postgres' | 'schema'>): Promise<string[]> {
  return migratePlace(await findPlace(postgres, schema));
}
