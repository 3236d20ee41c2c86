import { onceBack } from '../database/once-back';
import { checkPlace } from './check-options';
import { findPlace } from './connections';
import { migratePlace } from './migrate-timeouts';
import type { TimeoutModuleOptions } from './timeout-options';

/**
 * Makes the schema and its tables, or brings them up to date: for a step of the deployment, by a
 * user who may, where the application itself may not (`migrate: false`). Safe to repeat.
 * Returns the names of the migrations that were run now.
 * @throws {TypeError} naming the option that is wrong, and how it is right
 */
export async function migrateTimeouts(
  options: Pick<TimeoutModuleOptions, 'postgres' | 'schema'>,
): Promise<string[]> {
  const { postgres, schema } = checkPlace('migrateTimeouts', options);
  return migratePlace(await onceBack(() => findPlace(postgres, schema)));
}
