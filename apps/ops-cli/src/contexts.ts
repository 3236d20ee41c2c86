import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandFailure } from './command-failure';
import { EXIT } from './exit-code';

/** How to get to an installation: settings by their names in the environment. */
export type Context = Readonly<
  Partial<Record<'DATABASE_URL' | 'DATABASE_SCHEMA' | 'REDIS_URL' | 'LASTCALL_HOME', string>>
>;

export interface Contexts {
  /** The one that commands use when nothing else says where; null: none. */
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, Context>>;
}

const NONE: Contexts = { current: null, contexts: {} };
const READABLE_BY_OTHERS = 0o077;
const [TRY_EVERY_MS, TRIES, LEFT_AFTER_MS] = [20, 1_000, 5_000];

/** `$XDG_CONFIG_HOME/lastcall/contexts.json`. It holds passwords: its owner's alone (0600). */
export function contextsFile(env: NodeJS.ProcessEnv): string {
  const folder = env.XDG_CONFIG_HOME || join(homedir(), '.config');
  return join(folder, 'lastcall', 'contexts.json');
}

/** @throws {CommandFailure} when others can read or write the file, or it is none of ours */
export function readContexts(env: NodeJS.ProcessEnv): Contexts {
  const file = contextsFile(env);
  let descriptor: number;
  try {
    // The same file is looked at and read, and a link could lead to anybody's.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NONE;
    throw refused(file, `it cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    const { uid, mode } = fstatSync(descriptor);
    if (process.getuid && uid !== process.getuid()) throw refused(file, 'it is another user’s');
    if ((mode & READABLE_BY_OTHERS) !== 0)
      throw refused(file, 'others can read it', `chmod 600 ${file}`);
    return parse(file, readFileSync(descriptor, 'utf8'));
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Changes them in turn: of two commands at once neither forgets what the other has kept.
 * @throws {CommandFailure} what `change` or reading throws, and busy; nothing is changed then
 */
export async function changeContexts(
  env: NodeJS.ProcessEnv,
  change: (kept: Contexts) => Contexts,
): Promise<Contexts> {
  const file = contextsFile(env);
  const lock = `${file}.lock`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    await take(lock);
    try {
      const changed = change(readContexts(env));
      writeContexts(env, changed);
      return changed;
    } finally {
      rmSync(lock, { force: true });
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof CommandFailure || code === undefined) throw error;
    const what = `${file} cannot be written (${code})`;
    const next = 'XDG_CONFIG_HOME names another folder';
    const exitCode = EXIT.refused;
    throw new CommandFailure({ code: 'contexts_refused', exitCode, what, next }, { cause: error });
  }
}

/** Whoever has it is through in a moment: one that is old is of a process that was killed. */
async function take(lock: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      return closeSync(openSync(lock, 'wx', 0o600));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const heldMs = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Infinity);
    if (heldMs > LEFT_AFTER_MS) rmSync(lock, { force: true });
    else await sleep(TRY_EVERY_MS);
  }
  throw new CommandFailure({
    code: 'busy',
    exitCode: EXIT.refused,
    what: 'Other commands are changing the contexts',
    next: `run it again; if none is, delete ${lock}`,
  });
}

/** Put in place whole, and never readable by others, not for a moment. */
export function writeContexts(env: NodeJS.ProcessEnv, contexts: Contexts): void {
  const file = contextsFile(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}`;
  // Of one with the same number, as in a container, that was killed.
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  chmodSync(unfinished, 0o600);
  renameSync(unfinished, file);
}

/** @throws {CommandFailure} context_not_found */
export function contextNamed({ contexts }: Contexts, name: string): Context {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context) return context;
  throw new CommandFailure({
    code: 'context_not_found',
    exitCode: EXIT.notFound,
    what: `There is no context "${name}"`,
    next: 'lastcall context list shows those there are; lastcall context add makes one',
  });
}

/** Without its password, for people: it may stand before the host, and among what is said of it. */
export function maskedUrl(url: string | undefined): string | null {
  if (!url) return null;
  // Several hosts, as of a cluster, are no URL to Node; nothing but a password is secret there.
  if (!URL.canParse(url)) return url.replace(/^([^/]*\/\/[^:@/]*):.*@/, '$1:***@');
  const masked = new URL(url);
  if (masked.password) masked.password = '***';
  for (const [name] of masked.searchParams) {
    if (/password/i.test(name)) masked.searchParams.set(name, '***');
  }
  return masked.href;
}

function parse(file: string, text: string): Contexts {
  try {
    const { current = null, contexts } = JSON.parse(text) as Partial<Contexts>;
    const isKept = isObject(contexts) && Object.values(contexts).every(isObject);
    if (isKept && (current === null || typeof current === 'string')) return { current, contexts };
  } catch {
    // Told below, without the text: it holds passwords.
  }
  throw refused(file, 'it is no JSON of ours', `delete ${file}, and add the contexts again`);
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function refused(file: string, why: string, next = `look who made it, and delete ${file}`) {
  return new CommandFailure({
    code: 'contexts_refused',
    exitCode: EXIT.refused,
    what: `${file} is not read`,
    why,
    next,
  });
}
