import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import type { Config } from '@app/orders';

const BIN = resolve(__dirname, '../../apps/ops-cli/bin/run.js');
/** Longer than any command of a test takes, on a busy machine too. */
const LIMIT_MS = 100_000;
/** The terminal makes a SIGINT of it. */
const CTRL_C = '\u0003';
/** On an empty line: nothing more is typed. */
export const CTRL_D = '\u0004';
// eslint-disable-next-line no-control-regex -- what colours a terminal begins with just this
export const COLOUR = /\u001b\[[0-9;]*m/;

/** Who is written down for `--actor name`: the user of this machine stands beside. */
export const operatorNamed = (name: string): string => `${name} (cli:${userInfo().username})`;

/** What a person reads: without colours, and with plain line ends. */
export function plain({ stdout }: Ended): string {
  return stdout.replace(new RegExp(COLOUR, 'g'), '').replaceAll('\r\n', '\n');
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** True: in a process of its own, as are those that get an input, a terminal or a signal. */
  readonly alone?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Where it is started, in a process of its own. */
  readonly folder?: string;
  /** What is typed or piped in; nothing when undefined. */
  readonly input?: string;
  /** What a shell has behind the command, as in `| head`: the first that fails tells the exit code. */
  readonly shell?: string;
  /** True: on a pseudo-terminal, where stdout and stderr are one. */
  readonly tty?: boolean;
  /**
   * Sends this as soon as stderr has matched (on a terminal the screen), or the promise is there.
   * A process that was not interrupted in time ends by itself.
   */
  readonly interrupt?: {
    readonly when: RegExp | Promise<unknown>;
    readonly signal: NodeJS.Signals;
    /** On a terminal: typed then; Ctrl-C unless given. */
    readonly keys?: string;
  };
  /** Of a process of its own: all that stderr holds so far. */
  readonly onStderr?: (stderr: string) => void;
}

/** Runs the built `lastcall` against the installation of a test. */
export function lastcall(
  config: Config | undefined,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Ended> {
  const { alone, tty, ...rest } = options;
  const ofItsOwn = [rest.interrupt, rest.input, rest.folder, rest.shell];
  const isAlone = alone || tty || ofItsOwn.some((one) => one !== undefined);
  return isAlone ? runAlone(config, args, options) : runInHost(config, args, options);
}

let host: ChildProcess | undefined;
let turn: Promise<unknown> = Promise.resolve();

/** One after the other in one process (test/support/lastcall-host.cjs), which the first starts. */
function runInHost(
  config: Config | undefined,
  args: readonly string[],
  { env = {} }: RunOptions,
  terminal = false,
): Promise<Ended> {
  const ended = turn.then(async () => {
    host ??= fork(join(__dirname, 'lastcall-host.cjs'), { execArgv: [], stdio: 'inherit' });
    const { signal, abort } = abortable();
    host.once('exit', abort);
    const answer = once(host, 'message', { signal });
    host.send({ args, env: { ...environment(config), ...env }, terminal });
    const [answered] = (await answer) as [Ended];
    host.off('exit', abort);
    return answered;
  });
  turn = ended.catch(() => undefined);
  return ended;
}

function abortable(): { signal: AbortSignal; abort: (code: number | null) => void } {
  const controller = new AbortController();
  const abort = (code: number | null): void =>
    controller.abort(new Error(`the commands' process ended with ${code}`));
  return { signal: controller.signal, abort };
}

/** Ends the process of the commands; a later one starts another. */
export async function endHost(): Promise<void> {
  const ending = host;
  host = undefined;
  if (!ending || ending.exitCode !== null) return;
  const gone = once(ending, 'exit');
  ending.disconnect();
  await gone;
}

function runAlone(
  config: Config | undefined,
  args: readonly string[],
  options: RunOptions,
): Promise<Ended> {
  const command = [process.execPath, BIN, ...args];
  const [program, ...rest] = startedBy(command, options);
  const child = spawn(program as string, rest, {
    cwd: options.folder,
    env: { ...environment(config), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
  });
  let stdout = '';
  let stderr = '';
  let isInterrupted = false;
  const { interrupt } = options;
  const stop = (): void => {
    if (!interrupt || isInterrupted) return;
    isInterrupted = true;
    if (options.tty) child.stdin.write(interrupt.keys ?? CTRL_C);
    else child.kill(interrupt.signal);
  };
  const interruptIfSeen = (output: string): void => {
    if (interrupt?.when instanceof RegExp && interrupt.when.test(output)) stop();
  };
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    if (options.tty) interruptIfSeen(stdout);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    interruptIfSeen(stderr);
    options.onStderr?.(stderr);
  });
  // A terminal's input stays open: its end would be a Ctrl-D.
  if (options.input !== undefined) child.stdin.write(options.input);
  if (!options.tty) child.stdin.end();
  child.stdin.on('error', () => undefined);
  return new Promise((done, fail) => {
    if (interrupt?.when instanceof Promise) interrupt.when.then(stop, fail);
    child.on('error', fail);
    child.on('close', (code, signal) =>
      done({ code: code ?? (signal === 'SIGKILL' ? 137 : -1), stdout, stderr }),
    );
  });
}

/** The result of a command with `--json`. */
export async function lastcallJson<Result>(
  config: Config,
  args: readonly string[],
  options: RunOptions = {},
): Promise<{ code: number; result: Result; stderr: string }> {
  const { code, stdout, stderr } = await lastcall(config, [...args, '--json'], options);
  return { code, result: JSON.parse(stdout) as Result, stderr };
}

export interface FourWays {
  readonly tty: Ended;
  readonly pipe: Ended;
  readonly json: Ended;
  readonly noColor: Ended;
}

/**
 * The same command on a terminal, in a pipe, with `--json`, and on a terminal with NO_COLOR. The
 * first is a process on a pseudo-terminal, the others take turns in one.
 */
export async function inFourWays(config: Config, args: readonly string[]): Promise<FourWays> {
  const [tty, pipe, json, noColor] = await Promise.all([
    lastcall(config, args, { tty: true }),
    lastcall(config, args),
    lastcall(config, [...args, '--json']),
    runInHost(config, args, { env: { NO_COLOR: '1' } }, true),
  ]);
  return { tty, pipe, json, noColor };
}

/** What holds for every command: one exit code, colours on a terminal only, `--json` is JSON alone. */
export function expectConventions(ways: FourWays, code: number): void {
  const { tty, pipe, json, noColor } = ways;
  expect([tty.code, pipe.code, json.code, noColor.code]).toEqual([code, code, code, code]);
  expect(pipe.stdout + pipe.stderr + json.stdout + json.stderr).not.toMatch(COLOUR);
  expect(noColor.stdout).not.toMatch(COLOUR);
  expect(JSON.parse(json.stdout)).toEqual(expect.any(Object));
}

/** Nothing of this machine but what a program needs to start. */
function environment(config: Config | undefined): Record<string, string> {
  const { PATH = '', HOME = '', DEBUG = '' } = process.env;
  const base = { PATH, HOME, DEBUG, TERM: 'xterm-256color', COLUMNS: '200' };
  if (!config) return { ...base, LASTCALL_HOME: '/nonexistent' };
  return {
    ...base,
    LASTCALL_HOME: config.LASTCALL_HOME,
    DATABASE_URL: config.DATABASE_URL,
    REDIS_URL: config.REDIS_URL ?? '',
    AUTH_JWT_SECRET: config.AUTH_JWT_SECRET ?? '',
    SANDBOX_WEBHOOK_SECRET: config.SANDBOX_WEBHOOK_SECRET ?? '',
    SANDBOX_URL: config.SANDBOX_URL,
  };
}

function startedBy(command: readonly string[], { tty, shell }: RunOptions): readonly string[] {
  const started =
    shell === undefined ? command : ['bash', '-c', `set -o pipefail; ${quoted(command)} ${shell}`];
  return tty ? onTerminal(started) : started;
}

const quoted = (command: readonly string[]): string =>
  command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');

/** `script` of util-linux gives a terminal and passes the exit code on, that of the command alone. */
function onTerminal(command: readonly string[]): string[] {
  return [
    'script',
    '--quiet',
    '--return',
    '--command',
    `stty cols 200; exec ${quoted(command)}`,
    '/dev/null',
  ];
}
