import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { CONNECTING } from '../../libs/orders/src/connect-limit';

// What a test takes away refuses at once; whoever is merely slow is waited for.
CONNECTING.limitMs = 30_000;

/** The servers that `npm test` has started. */
export function testServers(): { databaseUrl: string; redisUrl: string } {
  const { TEST_DATABASE_URL: databaseUrl, TEST_REDIS_URL: redisUrl } = process.env;
  if (!databaseUrl || !redisUrl) {
    throw new Error(
      'TEST_DATABASE_URL and TEST_REDIS_URL are not set: run the tests by `npm test`',
    );
  }
  return { databaseUrl, redisUrl };
}

export interface TestDatabase {
  readonly url: string;
  /** Cuts whoever is still connected, and removes it. */
  drop(): Promise<void>;
}

/** A database of its own, empty, on the server of this test run. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { databaseUrl } = testServers();
  const name = `test_${process.pid}_${randomBytes(4).toString('hex')}`;
  await run(databaseUrl, `CREATE DATABASE ${name}`);
  // For tests that connect by themselves; the application's own connections say where they look.
  await run(databaseUrl, `ALTER DATABASE ${name} SET search_path = lastcall, public`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => run(databaseUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function run(databaseUrl: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
