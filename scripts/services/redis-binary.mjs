// No npm package ships a Redis server. Look for one on this machine; on Debian and Ubuntu unpack
// the distribution's own packages into a cache folder, which needs no root and installs nothing.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Apt, exists, libraryFolders, run } from './apt.mjs';
import { cacheFolder } from './folders.mjs';

const HOW_TO_MEND =
  'install redis-server or valkey-server (apt, dnf, apk or brew), name one in REDIS_SERVER_BIN, ' +
  'or set REDIS_URL to use a Redis of your own';

/**
 * @param {(line: string) => void} say
 * @returns {string} a program that behaves like redis-server
 */
export function findRedisBinary(say) {
  const named = process.env.REDIS_SERVER_BIN;
  if (named) {
    if (isRedis(named)) return named;
    throw new Error(
      `REDIS_SERVER_BIN=${named} is not a Redis server that runs here: ${HOW_TO_MEND}`,
    );
  }
  const installed = ['redis-server', 'valkey-server'].find(isRedis);
  if (installed) return installed;

  const cache = cacheFolder('redis');
  const unpacked = join(cache, 'current', 'redis-server');
  if (isRedis(unpacked)) return unpacked;
  if (!['apt-get', 'apt-cache', 'dpkg', 'ldd'].every(exists)) {
    throw new Error(`no Redis server found: ${HOW_TO_MEND}`);
  }
  say('No Redis server found: unpacking the one of this distribution, for this project only');
  try {
    unpackFromDistribution(cache);
  } catch (cause) {
    const { message } = /** @type {Error} */ (cause);
    throw new Error(`no Redis server found, and fetching one failed (${message}): ${HOW_TO_MEND}`, {
      cause,
    });
  }
  if (isRedis(unpacked)) return unpacked;
  throw new Error(
    `the Redis server of this distribution does not run from ${cache}: ${HOW_TO_MEND}`,
  );
}

/** @param {string} program */
function isRedis(program) {
  const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return status === 0 && /^(redis|valkey) server /i.test(stdout);
}

/**
 * Complete under the name `current` or not there at all, whoever else unpacks at the same time.
 * @param {string} cache
 */
function unpackFromDistribution(cache) {
  const folder = mkdtempSync(join(cache, 'unpacked-'));
  try {
    const apt = new Apt(join(folder, 'apt'));
    const server = ['redis-server', 'redis-tools'];
    apt.unpack(server, folder);
    const binary = join(folder, 'usr', 'bin', 'redis-server');
    if (missingLibraries(binary, folder).length > 0) {
      apt.unpack(apt.librariesOf(server), folder);
    }
    const missing = missingLibraries(binary, folder);
    if (missing.length > 0) throw new Error(`missing libraries: ${missing.join(', ')}`);
    rmSync(apt.folder, { recursive: true, force: true });
    writeStarter(folder);
    rmSync(join(cache, 'current'), { recursive: true, force: true });
    renameSync(folder, join(cache, 'current'));
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (!isRedis(join(cache, 'current', 'redis-server'))) throw error;
  }
}

/** @param {string} binary @param {string} folder */
function missingLibraries(binary, folder) {
  const libraries = run('ldd', [binary], {
    env: { ...process.env, LD_LIBRARY_PATH: libraryFolders(folder).join(':') },
  });
  return [...libraries.matchAll(/(\S+) => not found/g)].map(([, name]) => name ?? '');
}

/**
 * A redis-server that finds the libraries beside it, wherever the folder is moved.
 * @param {string} folder
 */
function writeStarter(folder) {
  const libraries = libraryFolders(folder).map((name) => name.replace(folder, '$here'));
  const starter = join(folder, 'redis-server');
  writeFileSync(
    starter,
    [
      '#!/bin/sh',
      'here=$(dirname "$0")',
      `export LD_LIBRARY_PATH="${libraries.join(':')}"`,
      'exec "$here/usr/bin/redis-server" "$@"',
      '',
    ].join('\n'),
  );
  chmodSync(starter, 0o755);
}
