import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, migrate } from '@app/orders';
import { PoolerRefusalError, TransactionPoolingError } from '@app/timeout';
import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { examinePostgres } from '../../libs/orders/src/ops/doctor/examine-postgres';
import { TimeoutModule } from '../../libs/timeout/src/public';
import { describeClosingOnTime } from '../closing/closes-on-time';
import { JWT_SECRET, WEBHOOK_SECRET } from '../support/app';
import {
  asMigrating,
  asOwner as ownerOf,
  createTestDatabase,
  type TestDatabase,
  testServers,
} from '../support/database';
import { endHost, lastcall } from '../support/lastcall';
import { openWorld } from '../support/world';

/*
 * A PgBouncer before Postgres, as most who rent one out have it, in each way that it can be set up:
 * docs/operations.md, "Postgres".
 */

interface Pgbouncer {
  readonly url: string;
  stop(): Promise<void>;
}

interface StartPgbouncer {
  folder: string;
  postgresUrl: string;
  settings: readonly string[];
  say(line: string): void;
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- an ES module without types
const { startPgbouncer } = require('../../scripts/services/pgbouncer.mjs') as {
  startPgbouncer(how: StartPgbouncer): Promise<Pgbouncer>;
};

/** What docs/operations.md has an owner say for the user. */
const SETTINGS_OF_THE_USER = [
  ...readFileSync('docs/operations.md', 'utf8').matchAll(/^ *ALTER ROLE shop SET (.*);$/gm),
].map(([, setting]) => setting as string);
const OPERATOR = ['--actor', 'olga', '--reason', 'tried out'];
const IGNORING = 'ignore_startup_parameters = options';

const SETTINGS = {
  LASTCALL_HOME: join(tmpdir(), 'lastcall-tests-have-no-home'),
  AUTH_JWT_SECRET: JWT_SECRET,
  SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET,
  REDIS_URL: testServers().redisUrl,
};

const started: { stop(): Promise<void> }[] = [];
const databases: (TestDatabase & { user: string })[] = [];
afterAll(async () => {
  await endHost();
  for (const one of started) await one.stop();
  for (const { drop, user } of databases) {
    await drop();
    await asOwner(testServers().databaseUrl, `DROP ROLE ${user}`);
  }
});

/** A migrated database, with such a pooler before it, and a user of its own that has these settings. */
async function pooled(
  settings: readonly string[],
  ofTheUser: readonly string[] = [],
): Promise<TestDatabase> {
  const database = await createTestDatabase();
  const user = `pooled_${databases.length}_${process.pid}`;
  databases.push({ ...database, user });
  await migrate(asMigrating(database.url));
  await asOwner(
    database.url,
    `CREATE ROLE ${user} LOGIN PASSWORD 'app' IN ROLE lastcall_app`,
    ...ofTheUser.map((setting) => `ALTER ROLE ${user} SET ${setting}`),
  );
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-pgbouncer-'));
  const postgresUrl = Object.assign(new URL(database.url), { username: user, password: 'app' });
  const how = { folder, postgresUrl: postgresUrl.href, settings };
  const pgbouncer = await startPgbouncer({ ...how, say: (line) => console.error(line) });
  started.push(pgbouncer);
  return { ...database, appUrl: pgbouncer.url };
}

async function asOwner(databaseUrl: string, ...statements: readonly string[]): Promise<void> {
  const owner = ownerOf(databaseUrl);
  for (const sql of statements) await owner.rows(sql);
  await owner.close();
}

/** The first finding of `doctor` of such a database. */
async function findingOf({ appUrl }: TestDatabase) {
  const world = { DATABASE_URL: appUrl, DATABASE_SCHEMA: 'lastcall', SWEEP_INTERVAL: 10_000 };
  const checks = await examinePostgres(world as Parameters<typeof examinePostgres>[0]);
  return checks.find(({ name, state }) => name === 'sessions' || state === 'unknown');
}

/** A shop of somebody else that has deadlines alone. */
function hostOf({ appUrl }: TestDatabase): Promise<unknown> {
  @Module({ imports: [TimeoutModule.forRoot({ postgres: { url: appUrl } })] })
  class Shop {}
  return Test.createTestingModule({ imports: [Shop] }).compile();
}

const bySession = () => pooled(['pool_mode = session', IGNORING], SETTINGS_OF_THE_USER);

describe('PgBouncer that pools sessions, and a user who has our settings', () => {
  describeClosingOnTime('bullmq', () => ({}), bySession);
  // Hears of new heads by notifications, which belong to a session.
  describeClosingOnTime('postgres', () => ({}), bySession);

  it('is nothing that doctor finds', async () => {
    expect(await findingOf(await bySession())).toMatchObject({ state: 'ok' });
  });
});

describe('PgBouncer that drops what our sessions ask for', () => {
  it('is found by doctor', async () => {
    const database = await pooled(['pool_mode = session', IGNORING]);
    expect(await findingOf(database)).toMatchObject({
      state: 'finding',
      detail: expect.stringContaining('lock_timeout = 0'),
    });
  });
});

describe('PgBouncer that refuses what our sessions ask for', () => {
  it('is named, with what mends it, by doctor, a command, migrations, the application and TimeoutModule', async () => {
    const database = await pooled(['pool_mode = session']);
    const mend = 'ignore_startup_parameters = options';
    const fix = expect.stringContaining(mend);
    expect(await findingOf(database)).toMatchObject({ name: 'reachable', fix });
    const config = loadConfig({ ...SETTINGS, DATABASE_URL: database.appUrl });
    expect((await lastcall(config, ['orders', 'list'])).stderr).toContain(mend);
    for (const program of ['migrate', 'main']) {
      const { status, stderr } = spawnSync(process.execPath, [`dist/apps/api/src/${program}.js`], {
        env: { ...SETTINGS, DATABASE_URL: database.appUrl },
        encoding: 'utf8',
      });
      expect(stderr).toContain(mend);
      expect(status).toBe(1);
    }
    await expect(hostOf(database)).rejects.toThrow(PoolerRefusalError);
  });
});

describe('PgBouncer that pools transactions', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await pooled(['pool_mode = transaction', IGNORING], SETTINGS_OF_THE_USER);
  });

  it('is refused by the order module, by migrations and by TimeoutModule', async () => {
    const { appUrl } = database;
    await expect(openWorld({ databaseUrl: appUrl })).rejects.toThrow(TransactionPoolingError);
    await expect(migrate({ DATABASE_URL: appUrl })).rejects.toThrow(TransactionPoolingError);
    await expect(hostOf(database)).rejects.toThrow(TransactionPoolingError);
  });

  it('is named by a command that would change something', async () => {
    const config = loadConfig({ ...SETTINGS, DATABASE_URL: database.appUrl });
    const { code, stderr } = await lastcall(config, ['timeouts', 'resume', ...OPERATOR]);
    expect(stderr).toContain('pool_mode = session');
    expect(code).toBe(6);
  });

  it('is found by doctor', async () => {
    expect(await findingOf(database)).toMatchObject({
      state: 'finding',
      detail: expect.stringContaining('another session'),
      fix: expect.stringContaining('pool_mode = session'),
    });
  });
});
