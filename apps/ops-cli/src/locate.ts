import { existsSync, lstatSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { usageFailure } from './command-failure';
import { type Context, contextNamed, maskedUrl, readContexts } from './contexts';

/** What the flags of every command say of where the installation is. */
export interface Whereabouts {
  readonly home?: string | undefined;
  readonly context?: string | undefined;
}

export interface Located {
  /** The environment, as if it said where the installation is. */
  readonly env: NodeJS.ProcessEnv;
  /** Said before something is changed: which installation, where that is not plain. */
  readonly what: string | null;
}

/** Where an installation that runs is, and which tokens it takes: all of that its home says. */
const OF_A_RUN = [
  ...['DATABASE_URL', 'DATABASE_SCHEMA', 'REDIS_URL', 'HOST', 'PORT', 'SANDBOX_URL'],
  ...['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE', 'AUTH_MAX_AGE'],
];
/** What a home says of its installation: none of it may come from elsewhere. */
const SECRETS = ['AUTH_JWT_SECRET', 'HISTORY_SEAL_KEY', 'SANDBOX_WEBHOOK_SECRET'];
const OF_A_HOME = [...OF_A_RUN, ...SECRETS, 'LASTCALL_HOME'];
const OF_A_CONTEXT = ['DATABASE_URL', 'DATABASE_SCHEMA', 'REDIS_URL', 'LASTCALL_HOME'];
const WRITABLE_BY_OTHERS = 0o022;

/**
 * Where the installation is: what the flags say, else the environment, else the context in use, else
 * a `.lastcall` of this folder or of one above it, else that of the project of this command.
 */
export function locate(
  { home, context }: Whereabouts,
  env: NodeJS.ProcessEnv,
  note: (line: string) => void,
  folder = process.cwd(),
): Located {
  if (home !== undefined && context !== undefined) {
    throw usageFailure('--home and --context: give one of the two');
  }
  if (home !== undefined) {
    return { env: { ...without(env, OF_A_HOME), LASTCALL_HOME: resolve(home) }, what: home };
  }
  if (context !== undefined)
    return inContext(context, contextNamed(readContexts(env), context), env);
  if (env.DATABASE_URL || env.LASTCALL_HOME) return { env, what: null };
  const contexts = readContexts(env);
  if (contexts.current !== null) {
    return inContext(contexts.current, contextNamed(contexts, contexts.current), env);
  }
  const found = searchUpwards(folder, note);
  if (found === undefined) return { env, what: null };
  // Secrets that npm start was given are in no home: those of the shell count.
  return { env: { ...without(env, OF_A_RUN), LASTCALL_HOME: found }, what: found };
}

function inContext(name: string, context: Context, env: NodeJS.ProcessEnv): Located {
  const names = context.LASTCALL_HOME ? OF_A_HOME : OF_A_CONTEXT;
  const { DATABASE_SCHEMA: schema } = context;
  const where = maskedUrl(context.DATABASE_URL) ?? context.LASTCALL_HOME;
  const what = `context ${name} (${where}${schema ? `, schema ${schema}` : ''})`;
  return { env: { ...without(env, names), ...context }, what };
}

/** The nearest folder with an installation that runs; what another user left there is passed over. */
function searchUpwards(from: string, note: (line: string) => void): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const home = join(folder, '.lastcall');
    if (existsSync(join(home, 'runtime.json'))) {
      if (isOwn(home)) {
        if (isWritableByOthers(folder)) {
          note(`warning: others can write to ${folder}, where this installation was found`);
        }
        return home;
      }
      note(`warning: ${home} is another user's, or a link: not taken`);
    }
    if (dirname(folder) === folder) return undefined;
  }
}

function isOwn(path: string): boolean {
  const { uid } = lstatSync(path);
  return lstatSync(path).isDirectory() && (!process.getuid || uid === process.getuid());
}

function isWritableByOthers(folder: string): boolean {
  return process.getuid !== undefined && (statSync(folder).mode & WRITABLE_BY_OTHERS) !== 0;
}

function without(env: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}
