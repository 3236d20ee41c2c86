import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { isAlive } from '../services/index.mjs';
import {
  SERVERS_ELSEWHERE,
  filesOf,
  launches,
  newHome,
  pidsOf,
  running,
  runtimeOf,
} from './launches';

jest.setTimeout(60_000);

const stage = launches();

it('says where everything is, and how to place a first order', async () => {
  const launched = stage.start(SERVERS_ELSEWHERE);
  await launched.says(running);
  const { PORT, SANDBOX_URL } = runtimeOf(stage.home);
  expect(launched.output()).toContain(`http://127.0.0.1:${PORT}/docs`);
  expect(launched.output()).toContain(SANDBOX_URL);
  expect(launched.output()).toContain('token --sub alice --scope orders');
  expect(launched.output()).toContain('"sku":"tea"');
  expect(launched.output()).not.toContain('hidden');
  expect(statSync(join(stage.home, 'runtime.json')).mode & 0o777).toBe(0o600);
  expect(statSync(join(stage.home, 'secrets.json')).mode & 0o777).toBe(0o600);
});

it('finds what listens on an address of its own, and says that one', async () => {
  const launched = stage.start({
    ...SERVERS_ELSEWHERE,
    HOST: '127.0.0.2',
    SANDBOX_HOST: '127.0.0.3',
  });
  await launched.says(running);
  const { PORT, SANDBOX_URL } = runtimeOf(stage.home);
  expect(launched.output()).toContain(`http://127.0.0.2:${PORT}/docs`);
  expect(SANDBOX_URL).toMatch(/^http:..127\.0\.0\.3:/);
  const second = stage.start();
  expect(await second.exitCode()).toBe(1);
  expect(second.output()).toContain(`at http://127.0.0.2:${PORT}`);
});

it('says what to paste as a shell reads it, whatever the home is called', async () => {
  stage.home = join(newHome(), "the shop's $1");
  const launched = stage.start(SERVERS_ELSEWHERE);
  await launched.says('token --sub alice');
  const [, said = ''] = /^ +(.+) npx lastcall doctor$/m.exec(launched.output()) ?? [];
  expect(execFileSync('sh', ['-c', `${said} printenv LASTCALL_HOME`]).toString()).toBe(
    `${stage.home}\n`,
  );
});

it('leaves to commands the schema that it was started with', async () => {
  const launched = stage.start({ ...SERVERS_ELSEWHERE, DATABASE_SCHEMA: 'shop_b' });
  await launched.says(running);
  expect(runtimeOf(stage.home)).toMatchObject({ DATABASE_SCHEMA: 'shop_b' });
});

it('leaves to commands what tokens have to be like, so that the first order is paid with one', async () => {
  const issuer = { AUTH_JWKS_URL: 'https://id.test/keys', AUTH_ISSUER: 'https://id.test' };
  const auth = { ...issuer, AUTH_AUDIENCE: 'orders', AUTH_MAX_AGE: '1h' };
  const launched = stage.start({ ...SERVERS_ELSEWHERE, ...auth });
  await launched.says(running);
  expect(runtimeOf(stage.home)).toMatchObject(auth);
});

it('says so where it starts no sandbox, as SANDBOX_URL names one', async () => {
  const launched = stage.start({ ...SERVERS_ELSEWHERE, SANDBOX_URL: 'http://127.0.0.1:1' });
  await launched.says(running);
  expect(launched.output()).toMatch(/Sandbox +http:..127\.0\.0\.1:1 .*not started here/);
});

it('on Ctrl-C stops the app before the rest, and leaves nothing running', async () => {
  const launched = stage.start({ ...SERVERS_ELSEWHERE, STAND_IN_DRAIN_MS: '300' });
  await launched.says(running);
  const pids = pidsOf(stage.home);
  expect(await launched.stop('SIGINT')).toBe(0);
  expect(readFileSync(join(stage.home, 'order-of-stops'), 'utf8')).toBe('app\nsandbox\n');
  expect(pids.filter(isAlive)).toEqual([]);
  expect(filesOf(stage.home)).toEqual(['logs', 'order-of-stops', 'secrets.json']);
});

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'on %s ends what it waits for before anything runs, and says no more of it',
  async (signal) => {
    const launched = stage.start({ ...SERVERS_ELSEWHERE, STAND_IN_MIGRATE: 'takes long' });
    const file = join(stage.home, 'migrating');
    while (!existsSync(file) || readFileSync(file, 'utf8') === '') await pause(20);
    const pid = Number(readFileSync(file, 'utf8'));
    expect(await launched.stop(signal)).toBe(0);
    expect(isAlive(pid)).toBe(false);
    expect(launched.output()).toMatch(/^Stopping .+\n$/);
    expect(filesOf(stage.home)).toEqual(['migrating', 'secrets.json']);
  },
);

it('a second Ctrl-C does not wait for the app, and still leaves nothing running', async () => {
  const launched = stage.start({ ...SERVERS_ELSEWHERE, STAND_IN_DRAIN_MS: '600000' });
  await launched.says(running);
  const pids = pidsOf(stage.home);
  launched.process.kill('SIGINT');
  await launched.says('Stopping');
  // The first second counts as one signal: npm and the terminal both pass Ctrl-C on. None as Node ends: it hears no more then.
  const again = (): unknown => pids.some(isAlive) && launched.process.kill('SIGINT');
  const repeat = setInterval(again, 200);
  expect(await launched.exitCode()).toBe(0);
  clearInterval(repeat);
  expect(pids.filter(isAlive)).toEqual([]);
});

it('keeps the secrets from one run to the next', async () => {
  const first = stage.start(SERVERS_ELSEWHERE);
  await first.says(running);
  await first.stop('SIGTERM');
  const secrets = readFileSync(join(stage.home, 'secrets.json'), 'utf8');
  await stage.start(SERVERS_ELSEWHERE).says(running);
  expect(readFileSync(join(stage.home, 'secrets.json'), 'utf8')).toBe(secrets);
});

it('hands the app the secrets that are kept', async () => {
  await stage.start(SERVERS_ELSEWHERE).says(running);
  const secrets = JSON.parse(readFileSync(join(stage.home, 'secrets.json'), 'utf8')) as Record<
    'AUTH_JWT_SECRET' | 'HISTORY_SEAL_KEY' | 'SANDBOX_WEBHOOK_SECRET',
    string
  >;
  const answer = await fetch(`http://127.0.0.1:${runtimeOf(stage.home).PORT}/environment`);
  const handed = (await answer.json()) as typeof secrets;
  expect(Object.keys(handed)).toHaveLength(3);
  expect(secrets).toMatchObject(handed);
});

it('lets two homes run beside each other', async () => {
  const first = stage.start(SERVERS_ELSEWHERE);
  await first.says(running);
  const second = stage.start({ ...SERVERS_ELSEWHERE, LASTCALL_HOME: newHome() });
  await second.says(running);
});

/** What SQL of the application could do beside its work: run programs, read files, rewrite roles. */
async function expectNoSuperuser(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    for (const sql of [
      `COPY (SELECT 1) TO PROGRAM 'id'`,
      `SELECT pg_read_file('postgresql.conf')`,
      'CREATE ROLE another SUPERUSER',
      'CREATE TABLE public.mine (a int)',
    ]) {
      await expect(client.query(sql)).rejects.toThrow(/permission denied/);
    }
  } finally {
    await client.end();
  }
}

it('finds and stops what a launcher killed with -9 left behind, and keeps its data', async () => {
  const killed = stage.start();
  await killed.says(running);
  const orphans = pidsOf(stage.home);
  expect(orphans).toHaveLength(4);
  await killed.stop('SIGKILL');
  expect(orphans.every(isAlive)).toBe(true);

  const next = stage.start();
  await next.says(running);
  await expectNoSuperuser(runtimeOf(stage.home).DATABASE_URL as string);
  expect(orphans.filter(isAlive)).toEqual([]);
  expect(next.output()).toContain('which a killed launcher left behind');
  const pids = pidsOf(stage.home);
  expect(await next.stop('SIGTERM')).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
});
