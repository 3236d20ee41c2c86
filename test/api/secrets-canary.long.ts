import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database';
import { until } from '../support/until';

/*
 * Settings with secrets that can be recognised, in a real process that works, is told nonsense, and
 * loses what it depends on: nothing that it logs, answers or shows in its arguments has them.
 */

const canary = (name: string): string => `canary-${name}-${randomUUID()}`;
const webhookCanary = (name: string): string =>
  `whsec_${Buffer.from(canary(name)).toString('base64')}`;
const SECRETS = {
  jwt: canary('jwt'),
  seal: canary('seal'),
  webhook: webhookCanary('webhook'),
  previous: webhookCanary('previous'),
  stripe: `sk_test_${canary('stripe')}`,
  stripeWebhook: `whsec_${canary('stripe-webhook')}`,
  database: canary('database'),
  redis: canary('redis'),
};
const user = `canary_${randomUUID().slice(0, 8)}`;

let database: TestDatabase;
let settings: Record<string, string>;
let seen = '';
const children: ChildProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  await onServer(`CREATE ROLE ${user} LOGIN SUPERUSER PASSWORD '${SECRETS.database}'`);
  const url = new URL(database.url);
  [url.username, url.password] = [user, SECRETS.database];
  settings = {
    PATH: process.env.PATH ?? '',
    PORT: '0',
    LASTCALL_HOME: join(tmpdir(), 'lastcall-tests-have-no-home'),
    DATABASE_URL: url.href,
    // Nobody is there: every complaint about it is a chance to tell its password.
    REDIS_URL: `redis://:${SECRETS.redis}@127.0.0.1:1`,
    AUTH_JWT_SECRET: SECRETS.jwt,
    HISTORY_SEAL_KEY: SECRETS.seal,
    SANDBOX_WEBHOOK_SECRET: SECRETS.webhook,
    SANDBOX_WEBHOOK_SECRET_PREVIOUS: SECRETS.previous,
    STRIPE_SECRET_KEY: SECRETS.stripe,
    STRIPE_WEBHOOK_SECRET: SECRETS.stripeWebhook,
    LOG_LEVEL: 'debug',
  };
});

afterAll(async () => {
  for (const child of children) if (child.exitCode === null) child.kill('SIGKILL');
  await database?.drop();
  await onServer(`DROP ROLE IF EXISTS ${user}`);
});

async function onServer(sql: string): Promise<void> {
  const client = new Client({ connectionString: testServers().databaseUrl });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

function start(file: string, env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [join('dist', file)], { env: { ...settings, ...env } });
  children.push(child);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (seen += text));
  }
  return child;
}

/** Told to end, with all that it has said until then. */
async function ended(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  await closed;
}

/** Anything of a secret: as it is, in base64, or escaped for an address. */
function leaked(): string[] {
  return Object.entries(SECRETS).flatMap(([name, secret]) => {
    const forms = [secret, Buffer.from(secret).toString('base64').slice(0, 40)];
    return forms.some((form) => seen.includes(form)) ? [name] : [];
  });
}

it('tells its secrets to nobody: not while it works, and not while everything fails', async () => {
  await once(start('apps/api/src/migrate.js', {}), 'close');
  const api = start('apps/api/src/main.js', {});
  const url = await until('it serves', () => /"url":"(http:[^"]+)"/.exec(seen)?.[1]);
  const get = async (path: string, init?: RequestInit): Promise<number> => {
    const answer = await fetch(url + path, init);
    seen += JSON.stringify([...answer.headers]) + (await answer.text());
    return answer.status;
  };
  expect(await get('/health/live')).toBe(200);

  const sign = (secret: string): Promise<string> =>
    new SignJWT({ scope: 'orders ops' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('ann')
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(secret));
  const headers = { authorization: `Bearer ${await sign(SECRETS.jwt)}` };
  for (const path of [
    '/health/ready',
    '/metrics',
    '/docs-json',
    '/v1/ops/overview',
    '/v1/orders',
  ]) {
    await get(path, { headers });
  }
  await get('/v1/orders', { headers: { authorization: `Bearer ${await sign('x'.repeat(32))}` } });
  await get('/v1/webhooks/sandbox', { method: 'POST', body: '{', headers: { 'webhook-id': '1' } });
  await get('/v1/orders', { method: 'POST', body: '{"items":', headers });
  seen += readFileSync(`/proc/${api.pid}/cmdline`, 'utf8');

  // A Redis that is there, and knows no such user: each try to get in is a complaint with what was tried.
  const redis = new URL(testServers().redisUrl);
  [redis.username, redis.password] = ['nobody', SECRETS.redis];
  const refused = start('apps/api/src/main.js', { REDIS_URL: redis.href });
  await until('Redis refuses the login', async () => seen.includes('WRONGPASS'));
  await ended(refused);

  // Its database goes away under it, and it is told so by every statement.
  await onServer(`ALTER ROLE ${user} PASSWORD 'another'`);
  await onServer(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${user}'`,
  );
  expect(await get('/v1/products')).toBe(503);
  await get('/health/ready');
  await ended(api);

  // Starts that fail, each with a complaint about a setting that has a secret in it.
  const failing: Record<string, string>[] = [
    {},
    { DATABASE_URL: `postgres://x:${SECRETS.database}@127.0.0.1:1/x` },
    { DATABASE_URL: `http://x:${SECRETS.database}@127.0.0.1/x` },
    { AUTH_JWT_SECRET: SECRETS.jwt.slice(0, 20), AUTH_JWKS_URL: `ftp://u:${SECRETS.jwt}@nowhere` },
    { SANDBOX_URL: `ftp://u:${SECRETS.webhook}@nowhere`, REDIS_URL: SECRETS.redis },
  ];
  for (const env of failing) {
    const [code] = (await once(start('apps/api/src/main.js', env), 'close')) as [number];
    expect(code).not.toBe(0);
  }
  expect(seen.length).toBeGreaterThan(5_000);
  expect(leaked()).toEqual([]);
}, 120_000);
