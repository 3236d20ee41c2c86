// A Postgres and a Redis for tests, benchmarks and the demo: made for one run, gone after it.
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { startPostgres, stopOrphan as stopOrphanPostgres } from './postgres.mjs';
import { isAlive, processIdentity } from './processes.mjs';
import { startRedis, stopOrphan as stopOrphanRedis } from './redis.mjs';
import { findRedisBinary } from './redis-binary.mjs';
import { temporaryFolder, temporaryFolders } from './temporary-folder.mjs';

/**
 * @typedef {object} ThrowawayServices
 * @property {string} databaseUrl
 * @property {string} redisUrl
 * @property {string} redisBinary
 * @property {() => Promise<void>} stop stops them and removes their data
 */

/**
 * @typedef {object} ThrowawayOptions
 * @property {boolean} [durable] true: flush to disk as in production, for honest measurements
 * @property {string} [base] the folder to make theirs in; a temporary one of the system's if absent
 * @property {Record<string, string | number>} [postgresSettings]
 * @property {Record<string, string | number>} [redisSettings]
 * @property {import('./postgres-binaries.mjs').PostgresBinaries} [programs] another Postgres
 * @property {string} [redisBinary] another Redis
 * @property {(line: string) => void} [say]
 */

const PREFIX = 'lastcall-throwaway-';
const OWNER_FILE = 'owner.json';
/** A folder that has no owner yet is being made, unless it is as old as this. */
const OWNERLESS_LIMIT_MS = 60 * 60_000;

/**
 * @param {ThrowawayOptions} [options]
 * @returns {Promise<ThrowawayServices>}
 */
export async function startThrowawayServices({
  durable = false,
  base: givenBase,
  postgresSettings = {},
  redisSettings = {},
  programs,
  redisBinary: givenRedis,
  say = () => {},
} = {}) {
  for (const base of givenBase ? [givenBase] : temporaryFolders()) await removeLeftovers(base);
  const base = givenBase ?? temporaryFolder({ durable });
  const folder = mkdtempSync(join(base, PREFIX));
  // Postgres, run as another user by root, passes through; nobody but it gets into its data.
  chmodSync(folder, 0o711);
  const owner = { pid: process.pid, identity: processIdentity(process.pid) };
  writeFileSync(join(folder, OWNER_FILE), JSON.stringify(owner));

  const removeFolder = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    const redisBinary = givenRedis ?? findRedisBinary(say);
    const [postgres, redis] = await startBoth(
      startPostgres({
        dataDir: join(folder, 'postgres'),
        logFile: join(folder, 'postgres.log'),
        password: randomBytes(12).toString('hex'),
        durable,
        settings: postgresSettings,
        programs,
        say,
      }),
      startRedis({
        dataDir: join(folder, 'redis'),
        logFile: join(folder, 'redis.log'),
        binary: redisBinary,
        durable,
        settings: redisSettings,
        say,
      }),
    );
    const killBoth = () => {
      for (const { pid } of [postgres, redis]) if (isAlive(pid)) process.kill(pid, 'SIGQUIT');
    };
    process.once('exit', killBoth);
    return {
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      redisBinary,
      async stop() {
        await Promise.all([postgres.stop(), redis.stop()]);
        process.off('exit', killBoth);
        rmSync(postgres.dataDir, { recursive: true, force: true, maxRetries: 5 });
        removeFolder();
      },
    };
  } catch (error) {
    removeFolder();
    throw error;
  }
}

/**
 * Both, or neither.
 * @template {{ stop(): Promise<void> }} A
 * @template {{ stop(): Promise<void> }} B
 * @param {Promise<A>} first
 * @param {Promise<B>} second
 * @returns {Promise<[A, B]>}
 */
async function startBoth(first, second) {
  const results = await Promise.allSettled([first, second]);
  const failure = results.find((result) => result.status === 'rejected');
  if (!failure) return [await first, await second];
  for (const result of results) if (result.status === 'fulfilled') await result.value.stop();
  throw failure.reason;
}

/**
 * Stops and removes what a run that was killed has left behind.
 * @param {string} base
 */
async function removeLeftovers(base) {
  for (const name of readdirSync(base).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(base, name);
    try {
      if (!isLeftover(folder)) continue;
      await stopOrphanPostgres(join(folder, 'postgres'));
      await stopOrphanRedis(join(folder, 'redis'));
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // Another user's, or being removed by another run at this moment: not ours to mend.
    }
  }
}

/** @param {string} folder */
function isLeftover(folder) {
  const ownerFile = join(folder, OWNER_FILE);
  if (!existsSync(ownerFile)) return Date.now() - statSync(folder).mtimeMs > OWNERLESS_LIMIT_MS;
  /** @type {{ pid: number, identity: string | null }} */
  const owner = JSON.parse(readFileSync(ownerFile, 'utf8'));
  return processIdentity(owner.pid) !== owner.identity;
}
