// An embedded Postgres: initdb once, then a server on 127.0.0.1 that this process starts and stops.
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { serverEnvironment } from './environment.mjs';
import { folderForAll, realPathOfNew } from './folders.mjs';
import { findPostgresBinaries } from './postgres-binaries.mjs';
import { canReach, giveTo, postgresUser } from './postgres-user.mjs';
import { freePort } from './ports.mjs';
import { isAlive, stopProcess, worksOn } from './processes.mjs';
import { HopelessError, spawnService, untilReady, withFreshPort } from './service.mjs';

/** @typedef {import('./service.mjs').Service} Service */
/** @typedef {import('./postgres-user.mjs').PostgresUser} PostgresUser */
/** @typedef {import('./postgres-binaries.mjs').PostgresBinaries} PostgresBinaries */

/**
 * @typedef {object} PostgresOptions
 * @property {string} dataDir made if it does not exist; moved if the user who has to run Postgres
 *   cannot get there, see `Service.dataDir`
 * @property {string} password of the superuser `lastcall`; counts when the data folder is made
 * @property {string} logFile
 * @property {number} [port] a free one if absent
 * @property {boolean} durable false: throw-away data, nothing is flushed to disk
 * @property {Record<string, string | number>} [settings] more of postgresql.conf
 * @property {PostgresBinaries} [programs] instead of the embedded ones
 * @property {AbortSignal} [signal] gives up starting
 * @property {(line: string) => void} [say]
 */

const USER = 'lastcall';
const DATABASE = 'lastcall';
const WRONG_PASSWORD = '28P01';
const ROOT_DATA = '/var/lib/lastcall';

/** Recovery after a crash may have a lot of log to read. */
const READY_LIMIT_MS = 120_000;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // A worker, an API, a CLI and a test or two, each with a pool or two.
  max_connections: 120,
  shared_buffers: '256MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** The Postgres that makes checksums unless it is told not to. */
const CHECKSUMS_SINCE = 18;

/** What makes data survive costs time, which data nobody wants back need not pay. */
const THROWAWAY_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  // Two files of tests at a time, of which each may start several processes.
  max_connections: 240,
};

/**
 * @param {PostgresOptions} options
 * @returns {Promise<Service>}
 */
export async function startPostgres({
  dataDir: wantedDataDir,
  password,
  logFile,
  port: wantedPort,
  durable,
  settings = {},
  programs,
  signal,
  say = () => {},
}) {
  const { dataDir, user } = placeData(realPathOfNew(wantedDataDir), say);
  const binaries = programs ?? findPostgresBinaries(user, say);
  if (existsSync(dataDir)) {
    refuseOtherVersion(dataDir, binaries.major);
    await stopOrphan(dataDir);
  } else {
    initialise({ dataDir, user, password, durable, binaries });
  }

  const configuration = { ...SETTINGS, ...(durable ? {} : THROWAWAY_SETTINGS), ...settings };
  return await withFreshPort(async () => {
    const port = wantedPort ?? (await freePort());
    const running = spawnService({
      name: 'Postgres',
      command: binaries.postgres,
      args: ['-D', dataDir, ...asArguments({ ...configuration, port })],
      cwd: dataDir,
      logFile,
      env: serverEnvironment(),
      uid: user.uid,
      gid: user.gid,
    });
    await untilReady(running, () => createDatabase(port, password), {
      limitMs: READY_LIMIT_MS,
      signal,
    });
    return {
      url: `postgres://${USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${DATABASE}`,
      port,
      pid: running.pid,
      dataDir,
      exited: running.exited,
      async stop() {
        // SIGINT: end the sessions and write everything down. SIGQUIT: leave that to recovery.
        if (await running.signal('SIGINT', 20_000)) return;
        if (await running.signal('SIGQUIT', 5_000)) return;
        await running.signal('SIGKILL', 5_000);
      },
    };
  }, wantedPort === undefined);
}

/**
 * Stops the server that a launcher which was killed has left working on a data folder.
 * @param {string} dataDir
 */
export async function stopOrphan(dataDir) {
  const pidFile = join(dataDir, 'postmaster.pid');
  if (!existsSync(pidFile)) return;
  const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10);
  const ours = pid > 0 && isAlive(pid) ? worksOn(pid, dataDir) : false;
  if (ours) {
    const stopped = await stopProcess(pid, [
      ['SIGINT', 20_000],
      ['SIGQUIT', 5_000],
    ]);
    if (!stopped) throw new Error(`Postgres (pid ${pid}) works on ${dataDir} and does not stop`);
  } else if (ours === false) {
    // Postgres would take whoever has that pid now for a server of its own, and refuse to start.
    rmSync(pidFile, { force: true });
  }
}

/**
 * Root has to run Postgres as somebody else, who may not get into a folder of root's.
 * @param {string} wanted
 * @param {(line: string) => void} say
 * @returns {{ dataDir: string, user: PostgresUser }}
 */
function placeData(wanted, say) {
  const user = postgresUser(wanted);
  if (canReach(dirname(wanted), user)) return { dataDir: wanted, user };
  const hash = createHash('sha256').update(wanted).digest('hex').slice(0, 16);
  const dataDir = join(folderForAll(ROOT_DATA), hash);
  say(`Keeping the Postgres data in ${dataDir}: ${user.name} cannot get into ${dirname(wanted)}`);
  return { dataDir, user: postgresUser(dataDir) };
}

/** @param {string} dataDir @param {number} major */
function refuseOtherVersion(dataDir, major) {
  const versionFile = join(dataDir, 'PG_VERSION');
  const found = existsSync(versionFile) ? readFileSync(versionFile, 'utf8').trim() : null;
  if (found === String(major)) return;
  if (found === null)
    throw new Error(`${dataDir} exists but is no Postgres data folder: move it away`);
  throw new Error(
    `the data in ${dataDir} was written by Postgres ${found}, and this is Postgres ${major}. ` +
      `Keep it: dump it with Postgres ${found}, move the folder away, start, and restore the dump. ` +
      'Do without it: delete the folder',
  );
}

/**
 * Under another name until it is complete, so that an interrupted initdb leaves nothing that
 * looks like data.
 * @param {{ dataDir: string, user: PostgresUser, password: string, durable: boolean, binaries: PostgresBinaries }} how
 */
function initialise({ dataDir, user, password, durable, binaries }) {
  const unfinished = `${dataDir}.new`;
  const passwordFile = `${dataDir}.password`;
  rmSync(unfinished, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  giveTo(unfinished, user);
  try {
    writeFileSync(passwordFile, password, { mode: 0o600 });
    giveTo(passwordFile, user);
    const { status, stdout, stderr, error } = spawnSync(
      binaries.initdb,
      [
        ...['-D', unfinished, '-U', USER, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'],
        ...['--encoding=UTF8', '--locale=C'],
        ...(durable ? [] : ['--no-sync']),
        ...(!durable && binaries.major >= CHECKSUMS_SINCE ? ['--no-data-checksums'] : []),
      ],
      {
        cwd: unfinished,
        env: serverEnvironment(),
        encoding: 'utf8',
        uid: user.uid,
        gid: user.gid,
      },
    );
    if (status !== 0) {
      throw new Error(
        `Postgres could not make ${dataDir}: ${error?.message ?? `${stdout}${stderr}`}`,
      );
    }
    chmodSync(unfinished, 0o700);
    renameSync(unfinished, dataDir);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** @param {Record<string, string | number>} settings */
function asArguments(settings) {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/**
 * Answers only once the server takes connections.
 * @param {number} port
 * @param {string} password
 */
async function createDatabase(port, password) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: USER,
    password,
    database: 'postgres',
    connectionTimeoutMillis: 5_000,
  });
  // The server may close the connection while it is still starting.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [
      DATABASE,
    ]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } catch (cause) {
    if (/** @type {{ code?: string }} */ (cause).code !== WRONG_PASSWORD) throw cause;
    throw new HopelessError(
      'Postgres refuses our password: the data was made with another one. Restore the ' +
        'secrets.json it was made with, or delete the data folder to do without the data',
      { cause },
    );
  } finally {
    await client.end().catch(() => {});
  }
}
