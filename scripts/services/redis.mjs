// A Redis server on 127.0.0.1 that this process starts and stops.
import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { serverEnvironment } from './environment.mjs';
import { freePort } from './ports.mjs';
import { isAlive, stopProcess, worksOn } from './processes.mjs';
import { findRedisBinary } from './redis-binary.mjs';
import { spawnService, untilReady, withFreshPort } from './service.mjs';

/** @typedef {import('./service.mjs').Service} Service */

/**
 * @typedef {object} RedisOptions
 * @property {string} dataDir
 * @property {string} logFile
 * @property {number} [port] a free one if absent
 * @property {boolean} durable true: every write is on disk within a second; false: memory only
 * @property {string} [password]
 * @property {string} [binary] found if absent
 * @property {Record<string, string | number>} [settings] more of redis.conf
 * @property {AbortSignal} [signal] gives up starting
 * @property {(line: string) => void} [say]
 */

const PID_FILE = 'redis.pid';
const PROBE_LIMIT_MS = 2_000;

/**
 * @param {RedisOptions} options
 * @returns {Promise<Service>}
 */
export async function startRedis({
  dataDir: wantedDataDir,
  logFile,
  port: wantedPort,
  durable,
  password,
  say = () => {},
  binary = findRedisBinary(say),
  settings = {},
  signal,
}) {
  mkdirSync(wantedDataDir, { recursive: true, mode: 0o700 });
  const dataDir = realpathSync(wantedDataDir);
  await stopOrphan(dataDir);

  return await withFreshPort(async () => {
    const port = wantedPort ?? (await freePort());
    const running = spawnService({
      name: 'Redis',
      command: binary,
      // The configuration comes on stdin: a password has no place in the argument list.
      args: ['-'],
      input: asConfiguration({
        bind: '127.0.0.1',
        port,
        dir: dataDir,
        pidfile: join(dataDir, PID_FILE),
        // Timers fire with the precision of the server's clock ticks: 10 ms instead of 100.
        hz: 100,
        save: '',
        appendonly: durable ? 'yes' : 'no',
        appendfsync: 'everysec',
        // An alarm thrown away to make room would be late; a refused write is seen at once.
        'maxmemory-policy': 'noeviction',
        ...(password ? { requirepass: password } : {}),
        ...settings,
      }),
      cwd: dataDir,
      logFile,
      env: serverEnvironment(),
    });
    await untilReady(running, () => ping(port, password), { signal });
    return {
      url: `redis://${password ? `:${encodeURIComponent(password)}@` : ''}127.0.0.1:${port}`,
      port,
      pid: running.pid,
      dataDir,
      exited: running.exited,
      async stop() {
        // A stopped (SIGSTOP) server gets no signal but this one first.
        if (await running.signal('SIGCONT', 0)) return;
        if (await running.signal('SIGTERM', durable ? 15_000 : 5_000)) return;
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
  const pidFile = join(dataDir, PID_FILE);
  if (!existsSync(pidFile)) return;
  const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10);
  if (!(pid > 0) || !isAlive(pid) || !worksOn(pid, realpathSync(dataDir))) return;
  const stopped = await stopProcess(pid, [
    ['SIGCONT', 0],
    ['SIGTERM', 15_000],
    ['SIGKILL', 5_000],
  ]);
  if (!stopped) throw new Error(`Redis (pid ${pid}) works on ${dataDir} and does not stop`);
}

/** @param {Record<string, string | number>} settings */
function asConfiguration(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${JSON.stringify(String(value))}\n`)
    .join('');
}

/**
 * @param {number} port
 * @param {string | undefined} password
 * @returns {Promise<void>}
 */
function ping(port, password) {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    let answer = '';
    socket.setTimeout(PROBE_LIMIT_MS, () => socket.destroy(new Error('no answer')));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(answer.trim() || 'closed')));
    socket.on('data', (data) => {
      answer += data.toString();
      if (answer.includes('+PONG')) resolve();
      // Still reading its append-only file, or not the server we started.
      else if (!/^-/m.test(answer)) return;
      socket.destroy();
    });
    socket.write(`${password ? `AUTH ${password}\r\n` : ''}PING\r\n`);
  });
}
