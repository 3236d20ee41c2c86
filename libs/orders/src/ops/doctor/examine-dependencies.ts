import type { Config } from '../../config';
import type { Check } from './check';
import { examinePostgres } from './examine-postgres';
import { examineRedis } from './examine-redis';
import { examineSettings } from './examine-settings';
import { examineTimer } from './examine-timer';
import { examineTransport } from './examine-transport';

/** What can be told while nothing runs: settings, Postgres, Redis, the timer's own store. */
export async function examineDependencies(config: Config): Promise<Check[]> {
  const stores = [examinePostgres(config), examineRedis(config), examineTimer(config)];
  const found = await Promise.all(stores);
  return [...examineSettings(config), ...examineTransport(config), ...found.flat()];
}
