// LASTCALL_HOME: what one installation keeps between runs, and what says that it is running.
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { tryLock } from '../lock-file.mjs';
import { projectFolder } from '../services/folders.mjs';
import { shellWord } from './first-order.mjs';
import { reachedAt } from './reached-at.mjs';

/** @typedef {Record<string, string>} Settings names of environment variables with their values */

/** A reason not to start, told without a stack. */
export class Refusal extends Error {}

const WRITABLE_BY_OTHERS = 0o022;

export class Home {
  /** @param {string | undefined} name LASTCALL_HOME */
  constructor(name) {
    this.folder = name ? resolve(name) : join(projectFolder, '.lastcall');
    this.logs = join(this.folder, 'logs');
    try {
      // Postgres, run as another user by root, passes through to its own data.
      mkdirSync(this.folder, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
      accessSync(this.folder, constants.W_OK);
    } catch (cause) {
      throw new Refusal(`LASTCALL_HOME: ${this.folder} is not a folder this user can write to`, {
        cause,
      });
    }
    tighten(this.folder);
  }

  /** @param {string} name */
  path(name) {
    return join(this.folder, name);
  }

  /** For people: short if it is near. */
  get displayName() {
    const near = relative(process.cwd(), this.folder);
    return near && !near.startsWith('..') ? near : this.folder;
  }

  /**
   * One launcher a home. The second one leaves the first alone.
   * @returns {() => void} release
   */
  lock() {
    const { release, holder } = tryLock(this.path('lock'));
    if (release) return release;
    const { HOST: host, PORT: port } = this.#read('runtime.json');
    const where = port ? `at ${reachedAt(host, port)}` : 'and still starting';
    throw new Refusal(
      `lastcall already runs in ${this.displayName}: process ${holder.pid}, ${where}.\n` +
        'Stop it first, or give a second one a folder and a port of its own:\n' +
        `  LASTCALL_HOME=${shellWord(`${this.displayName}-2`)} PORT=${Number(port ?? 3000) + 100} npm start`,
    );
  }

  /**
   * Made at the first start and kept: tokens, webhooks and data outlive a run.
   * @returns {Settings}
   */
  secrets() {
    const kept = this.#read('secrets.json');
    const secrets = {
      AUTH_JWT_SECRET: newSecret(),
      // Standard Webhooks writes secrets so; its official libraries take no others.
      SANDBOX_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
      HISTORY_SEAL_KEY: newSecret(),
      POSTGRES_PASSWORD: newSecret(),
      POSTGRES_USER_PASSWORD: newSecret(),
      REDIS_PASSWORD: newSecret(),
      ...kept,
    };
    if (Object.keys(kept).length < Object.keys(secrets).length)
      this.#write('secrets.json', secrets);
    return secrets;
  }

  /**
   * The addresses of the running installation, and what its tokens are like: how the CLI finds it, and gets in.
   * @param {Settings} settings
   */
  announce(settings) {
    this.#write('runtime.json', settings);
  }

  withdraw() {
    rmSync(this.path('runtime.json'), { force: true });
  }

  /**
   * @param {string} name
   * @returns {Settings}
   */
  #read(name) {
    const file = this.path(name);
    if (!existsSync(file)) return {};
    refuseForeign(file);
    try {
      return JSON.parse(readFileSync(file, 'utf8'));
    } catch (cause) {
      throw new Refusal(`${file} cannot be read as JSON: mend it, or delete it to start afresh`, {
        cause,
      });
    }
  }

  /** Whole or not at all. @param {string} name @param {Settings} settings */
  #write(name, settings) {
    const unfinished = this.path(`${name}.new`);
    rmSync(unfinished, { force: true });
    writeFileSync(unfinished, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
    renameSync(unfinished, this.path(name));
  }
}

/**
 * A folder of ours that was made with an open umask; what strangers have put into it meanwhile is
 * refused as theirs.
 * @param {string} folder
 */
function tighten(folder) {
  const { uid, mode } = statSync(folder);
  if (process.getuid !== undefined && uid !== process.getuid()) throw foreign(folder);
  if ((mode & WRITABLE_BY_OTHERS) !== 0) chmodSync(folder, mode & 0o777 & ~WRITABLE_BY_OTHERS);
}

/**
 * The same rule as the application's (libs/orders/src/home.ts), which is not built yet.
 * @param {string} file
 */
function refuseForeign(file) {
  const { uid, mode } = lstatSync(file);
  const self = process.getuid?.();
  if (self !== undefined && (uid !== self || (mode & WRITABLE_BY_OTHERS) !== 0))
    throw foreign(file);
}

/** @param {string} path */
function foreign(path) {
  return new Refusal(
    `${path} is another user's, or can be written by others: not used. Delete it, or set ` +
      'LASTCALL_HOME to a folder of your own',
  );
}

function newSecret() {
  return randomBytes(32).toString('hex');
}
