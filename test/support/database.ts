import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createDataSource, onDataSource, type Queryable } from '@app/orders';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
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

const APP_USER = 'lastcall_test_app';
/** Roles belong to the server: one for all tests of a run, several of which may be here at once. */
const CREATE_APPLICATION_USER = `
  DO $$ BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('${APP_USER}'));
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lastcall_app') THEN
      CREATE ROLE lastcall_app NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${APP_USER}') THEN
      CREATE ROLE ${APP_USER} LOGIN PASSWORD 'app' IN ROLE lastcall_app;
    END IF;
  END $$`;

export interface TestDatabase {
  /** As the owner, who migrates and may do anything. */
  readonly url: string;
  /** As the application: a member of `lastcall_app`, once the migrations have granted it something. */
  readonly appUrl: string;
  /** Cuts whoever is still connected, and removes it. */
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Default: the server of this test run. */
  readonly databaseUrl?: string;
  /** Names the database that it becomes a copy of. Default: empty. */
  readonly template?: (server: Client) => Promise<string>;
  /** Of an empty one. Default: the server's. */
  readonly encoding?: string;
}

/** A database of its own. */
export async function createTestDatabase({
  databaseUrl = testServers().databaseUrl,
  template,
  encoding,
}: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(4).toString('hex')}`;
  await onServer(databaseUrl, async (server) => {
    await server.query(CREATE_APPLICATION_USER);
    const copied = template ? ` TEMPLATE ${await template(server)}` : '';
    const encoded = encoding ? ` TEMPLATE template0 LOCALE 'C' ENCODING '${encoding}'` : copied;
    await server.query(`CREATE DATABASE ${name}${encoded}${await byFiles(server)}`);
    // For tests that connect by themselves; the application's own connections say where they look.
    await server.query(`ALTER DATABASE ${name} SET search_path = lastcall, public`);
  });
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    appUrl: asApplication(url.href),
    drop: () =>
      onServer(databaseUrl, async (server) => {
        await untilLeft(server, name);
        await server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }),
  };
}

/**
 * Page by page, through the buffers and the log, takes three times the CPU, and so does dropping it then. Before
 * Postgres 15 there is no other way than by files.
 */
async function byFiles(server: Client): Promise<string> {
  const sql = `SELECT current_setting('server_version_num')::int >= 150000 AS "canChoose"`;
  const { rows } = await server.query<{ canChoose: boolean }>(sql);
  return rows[0]?.canChoose ? ' STRATEGY FILE_COPY' : '';
}

/** So long sessions may take to end that were told to. */
const LEAVE_WITHIN_MS = 500;

/**
 * A pool that has ended hears of nobody's error any more, and its connections may still be on their way:
 * one that is cut then ends its process.
 */
async function untilLeft(server: Client, database: string): Promise<void> {
  const giveUpAtMs = performance.now() + LEAVE_WITHIN_MS;
  const sessions = 'SELECT FROM pg_stat_activity WHERE datname = $1';
  while ((await server.query(sessions, [database])).rowCount !== 0) {
    if (performance.now() > giveUpAtMs) return;
    await setTimeout(10);
  }
}

/** The same database for the restricted user that every test server has. */
export function asApplication(databaseUrl: string): string {
  return Object.assign(new URL(databaseUrl), { username: APP_USER, password: 'app' }).href;
}

/** What whoever migrates sets beside the application's own settings. */
export const asMigrating = (
  ownerUrl: string,
): { DATABASE_URL: string; DATABASE_ROLE: 'lastcall_app' } => ({
  DATABASE_URL: ownerUrl,
  DATABASE_ROLE: 'lastcall_app',
});

/** What sessions end by after seconds in production, which a machine may stand still for. */
type SessionLimit = 'idle_in_transaction_session_timeout' | 'lock_timeout';

/** The same address for sessions that have a minute for these; unless told otherwise for both. */
export function patient(
  databaseUrl: string,
  limits: readonly SessionLimit[] = ['idle_in_transaction_session_timeout', 'lock_timeout'],
): string {
  const address = new URL(databaseUrl);
  address.searchParams.set('options', limits.map((limit) => `-c ${limit}=60s`).join(' '));
  return address.href;
}

export interface Owner extends Queryable {
  /** For transactions. */
  dataSource(): Promise<DataSource>;
  close(): Promise<void>;
}

/**
 * What a test itself looks at and changes, as the owner: it may do what the application may not, and for as long as
 * it takes. Connects with the first statement.
 */
export function asOwner(databaseUrl: string): Owner {
  let connected: Promise<DataSource> | undefined;
  const dataSource = (): Promise<DataSource> =>
    (connected ??= createDataSource(
      { DATABASE_URL: patient(databaseUrl) },
      'test',
      3,
    ).initialize());
  return {
    dataSource,
    rows: async (sql, params) => onDataSource(await dataSource()).rows(sql, params),
    close: async () => (await connected)?.destroy(),
  };
}

/** One statement after the other, by somebody who may make databases. */
export async function onServer(
  databaseUrl: string,
  work: (server: Client) => Promise<unknown>,
): Promise<void> {
  const server = new Client({ connectionString: databaseUrl });
  await server.connect();
  try {
    await work(server);
  } finally {
    await server.end();
  }
}
