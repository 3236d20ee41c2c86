import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** A file of the home is refused. The message names it, says why, and how to mend it. */
export class HomeError extends Error {}

/** What the launcher writes (scripts/launcher/home.mjs). Whatever else a file holds is not read. */
const WRITTEN_NAMES = {
  'secrets.json': ['AUTH_JWT_SECRET', 'HISTORY_SEAL_KEY', 'SANDBOX_WEBHOOK_SECRET'],
  'runtime.json': [
    ...(['DATABASE_URL', 'DATABASE_SCHEMA', 'REDIS_URL', 'HOST', 'PORT', 'SANDBOX_URL'] as const),
    ...(['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE', 'AUTH_MAX_AGE'] as const),
  ],
} as const;

type HomeFile = keyof typeof WRITTEN_NAMES;

const WRITABLE_BY_OTHERS = 0o022;

/**
 * The folder that `LASTCALL_HOME` names, else `.lastcall` of the project whose launcher would write
 * it, or of this user where only the build was installed, as beside a host; and never that of the folder
 * somebody happens to stand in: it may be a stranger's.
 */
export function homeFolder(named: string | undefined): string {
  return named ? resolve(named) : join(projectFolder() ?? homedir(), '.lastcall');
}

/** Where `npm start` is; undefined where only the build was installed. */
function projectFolder(): string | undefined {
  for (let folder = __dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'scripts', 'launcher', 'home.mjs'))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * The settings of the installation that `npm start` runs with this folder; empty when none does.
 * @throws {HomeError} when a file is another user's, can be written by others, or is no JSON
 */
export function writtenSettings(home: string): Record<string, string> {
  return { ...readSettings(home, 'secrets.json'), ...readSettings(home, 'runtime.json') };
}

/** Whether a home may tell this setting at all. */
export const isWritten = (name: string): boolean =>
  Object.values(WRITTEN_NAMES).some((names: readonly string[]) => names.includes(name));

/** Where nothing was found to run, and what may have been meant. */
export function lookedAt(home: string): string {
  const within = join(home, '.lastcall');
  return existsSync(within) ? `${home}: did you mean ${within}?` : home;
}

/** The same, and empty where `writtenSettings` refuses: to compare with, not to go by. */
export function trustedSettings(home: string): Record<string, string> {
  try {
    return writtenSettings(home);
  } catch (error) {
    if (error instanceof HomeError) return {};
    throw error;
  }
}

function readSettings(home: string, name: HomeFile): Record<string, string> {
  const file = join(home, name);
  const text = readOwn(home, file);
  if (text === undefined) return {};
  const kept = parse(file, text);
  const known = WRITTEN_NAMES[name].filter((setting) => typeof kept[setting] === 'string');
  return Object.fromEntries(known.map((setting) => [setting, kept[setting] as string]));
}

/** The same file is looked at and read: between two openings it could be exchanged. */
function readOwn(home: string, file: string): string | undefined {
  let descriptor: number;
  try {
    // A link could lead to a file of ours that was never meant as settings, and a pipe be waited for.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    descriptor = openSync(file, flags);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const why = code === 'ELOOP' ? 'is a link' : `cannot be read (${code})`;
    throw new HomeError(`${file} ${why}; LASTCALL_HOME names another folder`, { cause });
  }
  try {
    refuseForeign(home, statSync(home));
    const opened = fstatSync(descriptor);
    refuseForeign(file, opened);
    if (!opened.isFile()) {
      throw new HomeError(`${file} is no file; LASTCALL_HOME names another folder`);
    }
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

function refuseForeign(path: string, { uid, mode }: { uid: number; mode: number }): void {
  const self = process.getuid?.();
  // Where there are no users' numbers, the system's own rights have to do.
  if (self === undefined) return;
  if (uid !== self) {
    throw new HomeError(
      `${path} belongs to user ${uid}, and this is user ${self}: not read. ` +
        'Run this as that user, or name a folder of your own by LASTCALL_HOME',
    );
  }
  if ((mode & WRITABLE_BY_OTHERS) !== 0) {
    throw new HomeError(
      `${path} can be written by others: not read. ` +
        `If nobody else has: chmod go-w ${path}; else delete it and run \`npm start\` again`,
    );
  }
}

function parse(file: string, text: string): Record<string, unknown> {
  try {
    const kept: unknown = JSON.parse(text);
    if (typeof kept === 'object' && kept !== null) return kept as Record<string, unknown>;
  } catch {
    // Told below, with the file's name and without its text, which may hold a secret.
  }
  throw new HomeError(`${file} cannot be read as JSON; delete it and run \`npm start\` again`);
}
