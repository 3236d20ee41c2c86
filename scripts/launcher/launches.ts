import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
if (process.env.STAND_IN_MIGRATE === 'takes long') {
  setTimeout(() => {}, 20_000);
  require('node:fs').writeFileSync(process.env.LASTCALL_HOME + '/migrating', String(process.pid));
}
// From here on nothing can be written down.
if (process.env.STAND_IN_MIGRATE === 'fills the disk') require('node:fs').symlinkSync('/dev/full', process.env.LASTCALL_HOME + '/processes.json');
`;
export const SERVERS_ELSEWHERE = {
  DATABASE_URL: 'postgres://lastcall:hidden@127.0.0.1:1/lastcall',
  REDIS_URL: 'redis://127.0.0.1:1',
};

const folder = mkdtempSync(join(tmpdir(), 'lastcall-launch-'));
/** Root's Postgres runs as another user, who has to get in. */
export const newHome = (): string => {
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

export interface Launched {
  readonly process: ChildProcess;
  readonly pid: number;
  output(): string;
  says(text: string): Promise<void>;
  exitCode(): Promise<number | null>;
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

function launchIn(home: string, env: Record<string, string>): Launched {
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
  return {
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
}

/** The command lines of stand-ins that run for launchers of this file. */
export const standInsRunning = (): string[] =>
  execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .filter(
      (line) => line.includes(join(folder, 'sandbox.js')) || line.includes(join(folder, 'app.js')),
    );

export const running = 'lastcall is running';
export const filesOf = (where: string): string[] => readdirSync(where).sort();
export const pidsOf = (where: string): number[] =>
  (JSON.parse(readFileSync(join(where, 'processes.json'), 'utf8')) as { pid: number }[]).map(
    ({ pid }) => pid,
  );
export const runtimeOf = (where: string): Record<string, string> =>
  JSON.parse(readFileSync(join(where, 'runtime.json'), 'utf8')) as Record<string, string>;

/** A home and a launcher of its own for each test of a file. */
export function launches(): { home: string; start(env?: Record<string, string>): Launched } {
  const started: Launched[] = [];
  const stage = {
    home: '',
    start(env: Record<string, string> = {}): Launched {
      const launched = launchIn(stage.home, env);
      started.push(launched);
      return launched;
    },
  };
  beforeEach(() => {
    stage.home = newHome();
  });
  afterEach(async () => {
    for (const launched of started.splice(0)) await launched.stop('SIGTERM');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return stage;
}
