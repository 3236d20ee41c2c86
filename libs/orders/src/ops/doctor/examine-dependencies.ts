import type { Config } from '../../config';
import type { Check } from './check';
import { examinePostgres } from './examine-postgres';
import { examineRedis } from './examine-redis';
import { examineSettings } from './examine-settings';

/** What can be told while nothing runs: settings, Postgres, Redis. */
export async function examineDependencies(config: Config): Promise<Check[]> {
  const [postgres, redis] = await Promise.all([examinePostgres(config), examineRedis(config)]);
  return [...examineSettings(config), ...postgres, ...redis];
}
