import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { World } from './world';

/** As `npm start` and the image start it; the peers have the same. */
const NODE_FLAGS = ['--max-semi-space-size=64'];
const LASTCALL = join(__dirname, '..', 'apps', 'api', 'src', 'main.js');
const COMPETITORS = join(__dirname, 'competitors');
/** Competitors hand a hundred thousand orders to their timers before they are ready. */
const START_LIMIT_MS = 180_000;

export interface BenchProcess {
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Api extends BenchProcess {
  readonly url: string;
}

export interface ApiOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** A program in bench/competitors that serves the same API in another way. */
  readonly program?: string;
}

/** The real application, as `npm start` runs it, in a process of its own. */
export async function startLastcall(
  world: World,
  { settings = {}, program }: ApiOptions = {},
): Promise<Api> {
  const file = program ? join(COMPETITORS, `${program}.js`) : LASTCALL;
  // For a profile: BENCH_NODE_FLAGS='--cpu-prof --cpu-prof-dir=/tmp'.
  const flags = [...NODE_FLAGS, ...(process.env.BENCH_NODE_FLAGS?.split(' ') ?? [])];
  const env = { ...world.env, LOG_LEVEL: 'info', ...settings };
  const { child, match } = await start([...flags, file], env, /"url":"([^"]+)"/);
  return { ...running(child, 'SIGTERM'), url: match[1] as string };
}

/** Resolves when its timers know every order. */
export async function startCompetitor(
  world: World,
  program: string,
  args: readonly string[] = [],
): Promise<BenchProcess> {
  return startProgram(`competitors/${program}`, args, world.env);
}

/** A program of bench that says `ready`, with just these settings; it is stopped by SIGKILL. */
export async function startProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<BenchProcess> {
  const { child } = await start(
    [...NODE_FLAGS, join(__dirname, `${program}.js`), ...args],
    env,
    /^ready$/m,
  );
  return running(child, 'SIGKILL');
}

function start(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  sign: RegExp,
): Promise<{ child: ChildProcess; match: RegExpExecArray }> {
  const child = spawn(process.execPath, [...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string): void => {
      child.kill('SIGKILL');
      reject(new Error(`${args.join(' ')} did not start: ${why}\n${output}`));
    };
    const timer = setTimeout(() => fail('it is silent'), START_LIMIT_MS);
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(`it ended with code ${code}`);
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      // A figure may be what an operator would have been called for.
      if (line.includes('"alert":true')) process.stderr.write(`${line}\n`);
      output = `${output}${line}\n`.slice(-10_000);
      const match = sign.exec(line);
      if (!match) return;
      clearTimeout(timer);
      resolve({ child, match });
    });
  });
}

function running(child: ChildProcess, signal: NodeJS.Signals): BenchProcess {
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    pid: child.pid as number,
    async stop() {
      child.kill(signal);
      await exited;
    },
  };
}
