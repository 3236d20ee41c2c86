import type { Queryable } from '@app/orders';
import { Redis } from 'ioredis';
import { startTestApp, type TestApp, type TestAppOptions } from './app';
import { endHost } from './lastcall';

/** A process of `lastcall` takes a second or two, and more beside other tests. */
export const CLI_TEST_TIMEOUT_MS = 120_000;

export interface CliWorld extends TestApp {
  /** For test/support/insert-orders.ts. */
  readonly sql: Queryable;
  /** Connects with its first command. */
  readonly redis: Redis;
}

/** An installation without a worker, so that nothing happens but what a command does. */
export async function startCliWorld(options: TestAppOptions = {}): Promise<CliWorld> {
  const settings = { ROLES: 'api', ...options.settings };
  const app = await startTestApp({ ...options, settings });
  const redis = new Redis(app.config.REDIS_URL ?? '', { lazyConnect: true });
  const close = async (): Promise<void> => {
    redis.disconnect();
    await endHost();
    await app.close();
  };
  return { ...app, sql: app, redis, close };
}
