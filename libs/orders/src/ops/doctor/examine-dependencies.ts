import type { Config } from '../../config';
import type { Check } from './check';
import { examinePostgres } from './examine-postgres';
import { examineRedis } from './examine-redis';
import { examineSettings } from './examine-settings';
import { examineTransport } from './examine-transport';

/** What can be told while nothing runs: settings, Postgres, Redis. */
export async function examineDependencies(config: Config): Promise<Check[]> {
  const [postgres, redis] = await Promise.all([examinePostgres(config), examineRedis(config)]);
  return [...examineSettings(config), ...examineTransport(config), ...postgres, ...redis];
}
