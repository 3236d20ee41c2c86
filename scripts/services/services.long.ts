import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import {
  type Service,
  isAlive,
  startPostgres,
  startRedis,
  startThrowawayServices,
} from './index.mjs';

const asRoot = process.getuid?.() === 0 ? it : it.skip;

jest.setTimeout(60_000);

let folder: string;
const running: Service[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lastcall-services-'));
  chmodSync(folder, 0o711);
});

afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function postgres(options: Partial<Parameters<typeof startPostgres>[0]> = {}) {
  const service = await startPostgres({
    dataDir: join(folder, 'postgres'),
    logFile: join(folder, 'postgres.log'),
    password: 'p@ss word',
    durable: false,
    ...options,
  });
  running.push(service);
  return service;
}

async function redis(options: Partial<Parameters<typeof startRedis>[0]> = {}) {
  const service = await startRedis({
    dataDir: join(folder, 'redis'),
    logFile: join(folder, 'redis.log'),
    durable: true,
    ...options,
  });
  running.push(service);
  return service;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function onRedis<T>(url: string, ask: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url);
  client.on('error', () => {}); // The command that asks says what was wrong.
  try {
    return await ask(client);
  } finally {
    client.disconnect();
  }
}

/** Starts a service in a process of its own, which is then killed with -9. */
async function startAndKillLauncher(call: string): Promise<number> {
  const script = join(folder, 'launcher.mjs');
  writeFileSync(
    script,
    `import * as services from ${JSON.stringify(join(__dirname, 'index.mjs'))};
     const service = await services.${call};
     console.log(service.pid ?? process.pid);
     setInterval(() => {}, 1000);`,
  );
  const launcher = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [pid] = (await once(launcher.stdout, 'data')) as [Buffer];
  launcher.kill('SIGKILL');
  await once(launcher, 'close');
  return Number(pid.toString());
}

describe('Postgres', () => {
  it('keeps what was committed from one start to the next', async () => {
    const first = await postgres({ durable: true });
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();
    const second = await postgres({ durable: true });
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    expect(await query(second.url, "SELECT current_setting('fsync') AS fsync")).toEqual([
      { fsync: 'on' },
    ]);
  });

  it('stops the server a killed launcher left behind, and keeps its data', async () => {
    const options = JSON.stringify({
      dataDir: join(folder, 'postgres'),
      logFile: join(folder, 'postgres.log'),
      password: 'p@ss word',
      durable: true,
    });
    const orphan = await startAndKillLauncher(`startPostgres(${options})`);
    expect(isAlive(orphan)).toBe(true);
    const { url, pid } = await postgres();
    expect(isAlive(orphan)).toBe(false);
    expect(pid).not.toBe(orphan);
    expect(await query(url, 'SELECT current_database() AS name')).toEqual([{ name: 'lastcall' }]);
  });

  it('starts over a pid file whose pid now belongs to somebody else', async () => {
    await (await postgres()).stop();
    const pidFile = join(folder, 'postgres', 'postmaster.pid');
    writeFileSync(pidFile, `${process.pid}\n${join(folder, 'postgres')}\n`);
    const { url } = await postgres();
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  it('says what to do about data of another version', async () => {
    const dataDir = join(folder, 'postgres');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'PG_VERSION'), '15\n');
    await expect(postgres()).rejects.toThrow(/written by Postgres 15.*dump it/s);
  });

  it('says at once that the password is not the one of the data', async () => {
    await (await postgres()).stop();
    await expect(postgres({ password: 'another' })).rejects.toThrow(/secrets\.json/);
  });

  it('shows the last lines of the log when it does not start, and leaves nothing running', async () => {
    await expect(postgres({ settings: { shared_buffers: 'much' } })).rejects.toThrow(
      /invalid value for parameter "shared_buffers"/,
    );
    expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).toBe(false);
  });

  it('refuses a port that is taken', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await expect(postgres({ port })).rejects.toThrow(/Address already in use/);
    server.close();
  });

  it('does not take an interrupted initdb for data', async () => {
    mkdirSync(join(folder, 'postgres.new'));
    writeFileSync(join(folder, 'postgres.new', 'PG_VERSION'), '');
    const { url } = await postgres();
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  asRoot('keeps its data elsewhere when root works in a private folder', async () => {
    chmodSync(folder, 0o700);
    const said: string[] = [];
    const first = await postgres({ say: (line) => said.push(line) });
    expect(said.join()).toContain(first.dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();
    const second = await postgres();
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    await second.stop();
    rmSync(second.dataDir, { recursive: true });
  });
});

describe('Redis', () => {
  it('keeps what was written from one start to the next when durable', async () => {
    const first = await redis();
    await onRedis(first.url, (client) => client.set('kept', 'yes'));
    await first.stop();
    const second = await redis();
    expect(await onRedis(second.url, (client) => client.get('kept'))).toBe('yes');
    expect(await onRedis(second.url, (client) => client.config('GET', 'maxmemory-policy'))).toEqual(
      ['maxmemory-policy', 'noeviction'],
    );
  });

  it('asks for the password it was given, which its argument list does not show', async () => {
    const { url, port, pid } = await redis({ password: 'canary' });
    expect(await onRedis(url, (client) => client.ping())).toBe('PONG');
    await expect(onRedis(`redis://127.0.0.1:${port}`, (client) => client.get('x'))).rejects.toThrow(
      /NOAUTH/,
    );
    expect(spawnSync('ps', ['-o', 'args=', '-p', String(pid)]).stdout.toString()).not.toContain(
      'canary',
    );
  });

  it('stops the server a killed launcher left behind', async () => {
    const options = JSON.stringify({
      dataDir: join(folder, 'redis'),
      logFile: join(folder, 'redis.log'),
      durable: true,
    });
    const orphan = await startAndKillLauncher(`startRedis(${options})`);
    expect(isAlive(orphan)).toBe(true);
    await redis();
    expect(isAlive(orphan)).toBe(false);
  });

  it('comes back on its port with its data after it was killed', async () => {
    const first = await redis();
    await onRedis(first.url, (client) => client.set('kept', 'yes'));
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    const second = await redis({ port: first.port });
    expect(second.url).toBe(first.url);
    expect(await onRedis(second.url, (client) => client.get('kept'))).toBe('yes');
  });

  it('stops although it is frozen', async () => {
    const { pid, stop } = await redis();
    process.kill(pid, 'SIGSTOP');
    await stop();
    expect(isAlive(pid)).toBe(false);
  });

  it('refuses a port that is taken', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    await expect(redis({ port })).rejects.toThrow(/Address already in use/);
    server.close();
  });
});

describe('throw-away services', () => {
  const leftovers = () => readdirSync(folder).filter((name) => name.includes('throwaway'));

  it('are gone, data and all, once stopped', async () => {
    const services = await startThrowawayServices({ base: folder });
    expect(await query(services.databaseUrl, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    expect(await onRedis(services.redisUrl, (client) => client.ping())).toBe('PONG');
    expect(leftovers()).toHaveLength(1);
    await services.stop();
    expect(leftovers()).toEqual([]);
  });

  it('of a run that was killed go with the next run', async () => {
    await startAndKillLauncher(`startThrowawayServices({ base: ${JSON.stringify(folder)} })`);
    const orphaned = leftovers();
    expect(orphaned).toHaveLength(1);
    const services = await startThrowawayServices({ base: folder });
    expect(leftovers()).not.toEqual(orphaned);
    await services.stop();
    expect(leftovers()).toEqual([]);
  });
});
