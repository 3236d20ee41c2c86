// What of apt and dpkg needs no root: a distribution's packages, unpacked into a folder of ours.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { filledOnce } from './folders.mjs';

/** The part of apt that needs no root: its own lists and cache, nothing installed. */
export class Apt {
  /** @type {string[]} options that keep apt away from the system's folders */
  #options = [];

  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
    mkdirSync(join(folder, 'packages'), { recursive: true });
  }

  /** @param {string[]} packages @param {string} into */
  unpack(packages, into) {
    try {
      this.#download(packages);
    } catch {
      // The lists are absent, as in most container images, or out of date.
      this.#fetchLists();
      this.#download(packages);
    }
    const archives = join(this.folder, 'packages');
    for (const name of readdirSync(archives)) {
      run('dpkg', ['-x', join(archives, name), into]);
      rmSync(join(archives, name));
    }
  }

  /** @param {string[]} packages */
  librariesOf(packages) {
    const depends = run('apt-cache', [...this.#options, 'depends', '--important', ...packages]);
    const names = [...depends.matchAll(/Depends: (\S+)/g)].map(([, name]) => name ?? '');
    // libc belongs to the system's loader: another one beside it does not work.
    return [...new Set(names)].filter((name) => /^(lib|lua)/.test(name) && !/^libc\d/.test(name));
  }

  /** @param {string[]} packages */
  #download(packages) {
    // Root may write where apt's own user may not.
    const user = process.getuid?.() === 0 ? ['-o', 'APT::Sandbox::User=root'] : [];
    run('apt-get', [...this.#options, ...user, '-q', 'download', ...packages], {
      cwd: join(this.folder, 'packages'),
    });
  }

  #fetchLists() {
    const state = join(this.folder, 'state');
    const cache = join(this.folder, 'cache');
    mkdirSync(join(state, 'lists', 'partial'), { recursive: true });
    mkdirSync(join(cache, 'archives', 'partial'), { recursive: true });
    this.#options = [
      ...['-o', `Dir::State=${state}`, '-o', `Dir::State::lists=${join(state, 'lists')}`],
      ...['-o', 'Dir::State::status=/var/lib/dpkg/status', '-o', `Dir::Cache=${cache}`],
      ...(process.getuid?.() === 0 ? ['-o', 'APT::Sandbox::User=root'] : []),
    ];
    // One unreachable source among several fails the whole: the download tells whether it mattered.
    spawnSync('apt-get', [...this.#options, '-q', 'update'], { timeout: 180_000, stdio: 'ignore' });
  }
}

/**
 * Packages of the distribution in a folder of our own.
 * @param {string} cache
 * @param {(apt: Apt, folder: string) => void} unpack
 * @returns {string} the folder
 */
export function unpackedIn(cache, unpack) {
  return filledOnce(cache, (folder) => {
    const apt = new Apt(join(folder, 'apt'));
    unpack(apt, folder);
    rmSync(apt.folder, { recursive: true, force: true });
  });
}

/** Where the packages keep shared libraries: usr/lib and usr/lib/<architecture>. @param {string} folder */
export function libraryFolders(folder) {
  return ['usr/lib', 'lib']
    .map((name) => join(folder, name))
    .filter((name) => existsSync(name))
    .flatMap((name) => [
      name,
      ...readdirSync(name, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && entry.name.includes('-linux-'))
        .map((entry) => join(name, entry.name)),
    ]);
}

/** @param {string} program */
export function exists(program) {
  return !spawnSync(program, ['--version'], { stdio: 'ignore' }).error;
}

/**
 * What it says is read, so it says it in English.
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 */
export function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...options,
    env: { ...process.env, ...options.env, LC_ALL: 'C' },
    timeout: 180_000,
    encoding: 'utf8',
  });
  if (status === 0) return stdout;
  const complaint = stderr?.trim().split('\n').at(-1) || error?.message || `exit code ${status}`;
  throw new Error(`${command}: ${complaint}`, { cause: error });
}
