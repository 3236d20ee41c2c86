import { Redis } from 'ioredis';
import { Client, Pool } from 'pg';
import { loadConfig } from '@app/orders';
import { migrateDatabase } from '../apps/api/src/migrate-database';
import { type CpuSeconds, parentOf, readCpu } from './cpu';

/** The throw-away servers that scripts/bench.mjs has started. */
export interface Servers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

/** A fresh, migrated database and an empty Redis, for one measurement. */
export interface World extends Servers {
  readonly pool: Pool;
  readonly redis: Redis;
  /** Settings of a process of lastcall in this world. */
  readonly env: Readonly<Record<string, string>>;
  rows<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /** CPU seconds used so far by these processes and by both servers. */
  cpu(nodePids: readonly number[]): CpuSeconds;
  close(): Promise<void>;
}

export const JWT_SECRET = 'a-secret-for-benchmarks-of-32-characters';
export const WEBHOOK_SECRET = 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=';

let made = 0;

export async function createWorld(servers: Servers): Promise<World> {
  const name = `bench_${process.pid}_${++made}`;
  await onServer(servers.databaseUrl, `CREATE DATABASE ${name}`);
  await onServer(servers.databaseUrl, `ALTER DATABASE ${name} SET search_path = lastcall, public`);
  const url = new URL(servers.databaseUrl);
  url.pathname = `/${name}`;
  const databaseUrl = url.href;
  const redis = new Redis(servers.redisUrl);
  await redis.flushall();
  const env = {
    PORT: '0',
    LASTCALL_HOME: '/nowhere',
    DATABASE_URL: databaseUrl,
    REDIS_URL: servers.redisUrl,
    AUTH_JWT_SECRET: JWT_SECRET,
    SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET,
    RATE_LIMIT: 'off',
    MAX_OPEN_ORDERS: 'off',
    MAX_HELD_UNITS: 'off',
    MAX_HELD_SHARE: 'off',
    MAX_UNPAID_IN_A_ROW: 'off',
    LOG_LEVEL: 'error',
  };
  await migrateDatabase(loadConfig(env));
  const pool = new Pool({ connectionString: databaseUrl, max: 4 });
  let isClosing = false;
  // A pool has ended before its connections have: dropping the database may still be heard of there.
  const hear = (error: Error): void => {
    if (!isClosing) throw error;
  };
  pool.on('error', hear).on('connect', (client) => void client.on('error', hear));
  await pool.query('TRUNCATE products');
  const pids = await serverPids(pool, redis);
  return {
    databaseUrl,
    redisUrl: servers.redisUrl,
    pool,
    redis,
    env,
    rows: async <Row>(sql: string, params: readonly unknown[] = []) =>
      (await pool.query(sql, [...params])).rows as Row[],
    cpu: (nodePids) => readCpu({ node: nodePids, ...pids }),
    async close() {
      isClosing = true;
      await pool.end();
      await redis.quit();
      await onServer(servers.databaseUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function serverPids(pool: Pool, redis: Redis): Promise<{ postgres: number; redis: number }> {
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const info = await redis.info('server');
  return {
    postgres: parentOf(rows[0]?.pid ?? 0),
    redis: Number(/process_id:(\d+)/.exec(info)?.[1]),
  };
}

async function onServer(databaseUrl: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
