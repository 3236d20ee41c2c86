import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { isAlive } from '../services/index.mjs';

// The launcher is run as its own process, as `npm start` runs it, with stand-ins for the programs
// it starts: what they do is told by the environment of the test.

const STAND_IN = `
const { createServer } = require('node:http');
const { appendFileSync } = require('node:fs');
const name = process.argv[1].includes('sandbox') ? 'sandbox' : 'app';
const port = name === 'app' ? process.env.PORT : process.env.SANDBOX_PORT;
if (name === 'app' && process.env.STAND_IN_APP === 'refuses') {
  console.error('PAYMENT_WINDOW must be a duration'); process.exit(1);
}
const { AUTH_JWT_SECRET, HISTORY_SEAL_KEY, SANDBOX_WEBHOOK_SECRET } = process.env;
createServer((request, response) => response.end(request.url === '/environment'
  ? JSON.stringify({ AUTH_JWT_SECRET, HISTORY_SEAL_KEY, SANDBOX_WEBHOOK_SECRET }) : '{"items":[{"sku":"tea","available":1}]}')).listen(port, (name === 'app' ? process.env.HOST : process.env.SANDBOX_HOST) || '127.0.0.1');
process.on('SIGTERM', () => setTimeout(() => {
  appendFileSync(process.env.LASTCALL_HOME + '/order-of-stops', name + '\\n');
  process.exit(0);
}, name === 'app' ? Number(process.env.STAND_IN_DRAIN_MS ?? 0) : 0));
`;
const MIGRATE = `
if (process.env.STAND_IN_MIGRATE === 'refuses') { console.error('These settings are wrong:\\n  PORT'); process.exit(1); }
`;
const SERVERS_ELSEWHERE = {
  DATABASE_URL: 'postgres://lastcall:hidden@127.0.0.1:1/lastcall',
  REDIS_URL: 'redis://127.0.0.1:1',
};

jest.setTimeout(60_000);

const folder = mkdtempSync(join(tmpdir(), 'lastcall-launch-'));
/** Root's Postgres runs as another user, who has to get in. */
const newHome = (): string => {
  const made = mkdtempSync(join(folder, 'home-'));
  chmodSync(made, 0o711);
  return made;
};
chmodSync(folder, 0o711);
const program = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const launcher = program(
  'start.mjs',
  `
  import { launch } from ${JSON.stringify(join(__dirname, 'launch.mjs'))};
  process.exitCode = await launch({
    env: process.env,
    entries: {
      migrate: ${JSON.stringify(program('migrate.js', MIGRATE))},
      app: ${JSON.stringify(program('app.js', STAND_IN))},
      sandbox: ${JSON.stringify(program('sandbox.js', STAND_IN))},
    },
    setUp: async () => {},
    say: (line) => console.log(line),
  });
  `,
);

let home: string;
const started: Launched[] = [];

beforeEach(() => {
  home = newHome();
});

afterEach(async () => {
  for (const launched of started.splice(0)) await launched.stop('SIGTERM');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Launched {
  readonly process: ChildProcess;
  readonly pid: number;
  output(): string;
  says(text: string): Promise<void>;
  exitCode(): Promise<number | null>;
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

function start(env: Record<string, string> = {}): Launched {
  const child = spawn(process.execPath, [launcher], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      LASTCALL_HOME: home,
      PORT: '0',
      SANDBOX_PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const ended = once(child, 'close') as Promise<[number | null]>;
  const launched: Launched = {
    process: child,
    pid: child.pid as number,
    output: () => output,
    async says(text) {
      while (!output.includes(text)) {
        if (child.exitCode !== null) throw new Error(`ended before it said "${text}":\n${output}`);
        await Promise.race([once(child.stdout, 'data'), ended]);
      }
    },
    exitCode: async () => (await ended)[0],
    async stop(signal) {
      child.kill(signal);
      return (await ended)[0];
    },
  };
  started.push(launched);
  return launched;
}

const running = 'lastcall is running';
const filesOf = (where: string): string[] => readdirSync(where).sort();
const pidsOf = (where: string): number[] =>
  (JSON.parse(readFileSync(join(where, 'processes.json'), 'utf8')) as { pid: number }[]).map(
    ({ pid }) => pid,
  );
const runtimeOf = (where: string): Record<string, string> =>
  JSON.parse(readFileSync(join(where, 'runtime.json'), 'utf8')) as Record<string, string>;

it('says where everything is, and how to place a first order', async () => {
  const launched = start(SERVERS_ELSEWHERE);
  await launched.says(running);
  const { PORT, SANDBOX_URL } = runtimeOf(home);
  expect(launched.output()).toContain(`http://127.0.0.1:${PORT}/docs`);
  expect(launched.output()).toContain(SANDBOX_URL);
  expect(launched.output()).toContain('token --sub alice --scope orders');
  expect(launched.output()).toContain('"sku":"tea"');
  expect(launched.output()).not.toContain('hidden');
  expect(statSync(join(home, 'runtime.json')).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, 'secrets.json')).mode & 0o777).toBe(0o600);
});

it('finds what listens on an address of its own, and says that one', async () => {
  const launched = start({ ...SERVERS_ELSEWHERE, HOST: '127.0.0.2', SANDBOX_HOST: '127.0.0.3' });
  await launched.says(running);
  const { PORT, SANDBOX_URL } = runtimeOf(home);
  expect(launched.output()).toContain(`http://127.0.0.2:${PORT}/docs`);
  expect(SANDBOX_URL).toMatch(/^http:..127\.0\.0\.3:/);
  const second = start();
  expect(await second.exitCode()).toBe(1);
  expect(second.output()).toContain(`at http://127.0.0.2:${PORT}`);
});

it('says what to paste as a shell reads it, whatever the home is called', async () => {
  home = join(newHome(), "the shop's $1");
  const launched = start(SERVERS_ELSEWHERE);
  await launched.says('token --sub alice');
  const [, said = ''] = /^ +(.+) npx lastcall doctor$/m.exec(launched.output()) ?? [];
  expect(execFileSync('sh', ['-c', `${said} printenv LASTCALL_HOME`]).toString()).toBe(`${home}\n`);
});

it('leaves to commands the schema that it was started with', async () => {
  const launched = start({ ...SERVERS_ELSEWHERE, DATABASE_SCHEMA: 'shop_b' });
  await launched.says(running);
  expect(runtimeOf(home)).toMatchObject({ DATABASE_SCHEMA: 'shop_b' });
});

it('leaves to commands what tokens have to be like, so that the first order is paid with one', async () => {
  const issuer = { AUTH_JWKS_URL: 'https://id.test/keys', AUTH_ISSUER: 'https://id.test' };
  const auth = { ...issuer, AUTH_AUDIENCE: 'orders', AUTH_MAX_AGE: '1h' };
  const launched = start({ ...SERVERS_ELSEWHERE, ...auth });
  await launched.says(running);
  expect(runtimeOf(home)).toMatchObject(auth);
});

it('says so where it starts no sandbox, as SANDBOX_URL names one', async () => {
  const launched = start({ ...SERVERS_ELSEWHERE, SANDBOX_URL: 'http://127.0.0.1:1' });
  await launched.says(running);
  expect(launched.output()).toMatch(/Sandbox +http:..127\.0\.0\.1:1 .*not started here/);
});

it('on Ctrl-C stops the app before the rest, and leaves nothing running', async () => {
  const launched = start({ ...SERVERS_ELSEWHERE, STAND_IN_DRAIN_MS: '300' });
  await launched.says(running);
  const pids = pidsOf(home);
  expect(await launched.stop('SIGINT')).toBe(0);
  expect(readFileSync(join(home, 'order-of-stops'), 'utf8')).toBe('app\nsandbox\n');
  expect(pids.filter(isAlive)).toEqual([]);
  expect(filesOf(home)).toEqual(['logs', 'order-of-stops', 'secrets.json']);
});

it('a second Ctrl-C does not wait for the app, and still leaves nothing running', async () => {
  const launched = start({ ...SERVERS_ELSEWHERE, STAND_IN_DRAIN_MS: '600000' });
  await launched.says(running);
  const pids = pidsOf(home);
  launched.process.kill('SIGINT');
  await launched.says('Stopping');
  // The first second counts as one signal: npm and the terminal both pass Ctrl-C on.
  const repeat = setInterval(() => launched.process.kill('SIGINT'), 200);
  expect(await launched.exitCode()).toBe(0);
  clearInterval(repeat);
  expect(pids.filter(isAlive)).toEqual([]);
});

it('keeps the secrets from one run to the next', async () => {
  const first = start(SERVERS_ELSEWHERE);
  await first.says(running);
  await first.stop('SIGTERM');
  const secrets = readFileSync(join(home, 'secrets.json'), 'utf8');
  await start(SERVERS_ELSEWHERE).says(running);
  expect(readFileSync(join(home, 'secrets.json'), 'utf8')).toBe(secrets);
});

it('refuses to start twice in one home and leaves the first alone', async () => {
  const first = start(SERVERS_ELSEWHERE);
  await first.says(running);
  const runtime = runtimeOf(home);
  const second = start(SERVERS_ELSEWHERE);
  expect(await second.exitCode()).toBe(1);
  expect(second.output()).toContain(`process ${first.pid}`);
  expect(second.output()).toContain(`http://127.0.0.1:${runtime.PORT}`);
  expect(second.output()).toMatch(/LASTCALL_HOME=\S+ PORT=\d+ npm start/);
  expect(runtimeOf(home)).toEqual(runtime);
  expect((await fetch(`http://127.0.0.1:${runtime.PORT}/health/ready`)).ok).toBe(true);
});

it('does not use what others could have written', async () => {
  writeFileSync(join(home, 'secrets.json'), '{"AUTH_JWT_SECRET":"known to others"}');
  chmodSync(join(home, 'secrets.json'), 0o666);
  const launched = start(SERVERS_ELSEWHERE);
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toMatch(/secrets\.json is another user's, or can be written by others/);
});

it('closes a folder that was made with an open umask', async () => {
  chmodSync(home, 0o775);
  await start(SERVERS_ELSEWHERE).says(running);
  expect(statSync(home).mode & 0o777).toBe(0o755);
});

it('hands the app the secrets that are kept', async () => {
  await start(SERVERS_ELSEWHERE).says(running);
  const secrets = JSON.parse(readFileSync(join(home, 'secrets.json'), 'utf8')) as Record<
    'AUTH_JWT_SECRET' | 'HISTORY_SEAL_KEY' | 'SANDBOX_WEBHOOK_SECRET',
    string
  >;
  const answer = await fetch(`http://127.0.0.1:${runtimeOf(home).PORT}/environment`);
  const handed = (await answer.json()) as typeof secrets;
  expect(Object.keys(handed)).toHaveLength(3);
  expect(secrets).toMatchObject(handed);
});

it('lets two homes run beside each other', async () => {
  const first = start(SERVERS_ELSEWHERE);
  await first.says(running);
  const second = start({ ...SERVERS_ELSEWHERE, LASTCALL_HOME: newHome() });
  await second.says(running);
});

it('names the setting when the port that was asked for is taken', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const launched = start({ ...SERVERS_ELSEWHERE, PORT: String(port) });
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toContain(`PORT=${port} is taken`);
  server.close();
});

it.each([
  ['PORT', 'abc', 'must be a whole number from 0 to 65535'],
  ['PORT', '99999', 'must be a whole number from 0 to 65535'],
  ['SANDBOX_PORT', '3001.5', 'must be a whole number from 0 to 65535'],
  ['HOST', 'shop.local', 'must be an IP address such as 127.0.0.1'],
  ['SANDBOX_HOST', 'my host', 'must be an IP address such as 127.0.0.1'],
])('names %s=%s before it starts anything', async (name, value, rule) => {
  const launched = start({ [name]: value });
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output().trim()).toBe(`${name} ${rule}, not "${value}"`);
  expect(filesOf(home)).not.toContain('postgres');
});

it('takes the next free port when a default is taken', async () => {
  const server = createServer().listen(3000, '127.0.0.1');
  // Somebody else may have it already.
  await new Promise((resolve) => server.once('listening', resolve).once('error', resolve));
  const launched = start({ ...SERVERS_ELSEWHERE, PORT: '' });
  await launched.says(running);
  expect(launched.output()).toMatch(/Port 3000 is taken: using \d+/);
  server.close();
});

it('shows what is wrong with the settings, and stops what it had started', async () => {
  const launched = start({ STAND_IN_MIGRATE: 'refuses' });
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toContain('These settings are wrong:\n  PORT');
  expect(filesOf(home)).not.toContain('lock');
  expect(filesOf(home)).not.toContain('runtime.json');
  expect(filesOf(home)).toContain('postgres');
  expect(existsSync(join(home, 'postgres', 'postmaster.pid'))).toBe(false);
  expect(existsSync(join(home, 'redis', 'redis.pid'))).toBe(false);
});

it('shows the last words of an app that does not start', async () => {
  const launched = start({ ...SERVERS_ELSEWHERE, STAND_IN_APP: 'refuses' });
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toContain('PAYMENT_WINDOW must be a duration');
  expect(filesOf(home)).not.toContain('lock');
  expect(filesOf(home)).not.toContain('processes.json');
});

it('stops everything and fails when a process it started dies', async () => {
  const launched = start(SERVERS_ELSEWHERE);
  await launched.says(running);
  const [sandbox, app] = pidsOf(home);
  process.kill(sandbox as number, 'SIGKILL');
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toContain('the sandbox was ended by SIGKILL');
  expect(isAlive(app as number)).toBe(false);
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
  const killed = start();
  await killed.says(running);
  const orphans = pidsOf(home);
  expect(orphans).toHaveLength(4);
  await killed.stop('SIGKILL');
  expect(orphans.every(isAlive)).toBe(true);

  const next = start();
  await next.says(running);
  await expectNoSuperuser(runtimeOf(home).DATABASE_URL as string);
  expect(orphans.filter(isAlive)).toEqual([]);
  expect(next.output()).toContain('which a killed launcher left behind');
  const pids = pidsOf(home);
  expect(await next.stop('SIGTERM')).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
});
