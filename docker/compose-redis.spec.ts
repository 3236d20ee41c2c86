import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../scripts/services/index.mjs';
import { until } from '../test/support/until';
import { compose } from './compose-file';

// No container engine is needed here: the command is run as it stands, on files of a folder of the test's own.

const service = compose.services['redis'];
/** With what is a shell's own in file names, words and formats, and Redis' in its settings. */
const PASSWORD = `s3 "cr\\et" %s $HOME '&' #x`;

describe('Redis in compose.yaml', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-compose-redis-'));
  const written = join(folder, 'written.conf');
  let port: number;
  let server: ChildProcess | undefined;

  beforeAll(async () => {
    port = await freePort();
  });

  afterEach(async () => {
    if (server?.exitCode === null && server.kill('SIGKILL')) await once(server, 'exit');
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** What the command reads and writes in the container, in the folder. */
  function commandHere(): string[] {
    const [mount = ''] = service?.volumes?.filter((volume) => volume.startsWith('./')) ?? [];
    const [file = '', place = '', access] = mount.split(':');
    expect(access).toBe('ro');
    expect(service?.tmpfs).toContain('/tmp');
    const settings = readFileSync(join(__dirname, file), 'utf8').replace(
      /^dir .*$/m,
      `dir ${folder}`,
    );
    writeFileSync(join(folder, 'read.conf'), `${settings}bind 127.0.0.1\nport ${port}\n`);
    // Compose takes `$$` for a `$` of the command's own.
    return (service?.command ?? []).map((word) =>
      word
        .replaceAll('$$', '$')
        .replaceAll(place, join(folder, 'read.conf'))
        .replaceAll('/tmp/redis.conf', written)
        .replaceAll('redis-server', process.env.TEST_REDIS_BIN ?? ''),
    );
  }

  async function start(): Promise<ChildProcess> {
    const [program = '', ...words] = commandHere();
    const env = { PATH: process.env.PATH, REDISCLI_AUTH: PASSWORD };
    server = spawn(program, words, { env, stdio: 'ignore' });
    await until('Redis answers', () =>
      ask((client) => client.ping()).then(
        (answer) => answer === 'PONG',
        () => false,
      ),
    );
    return server;
  }

  async function ask<T>(question: (client: Redis) => Promise<T>, password = PASSWORD): Promise<T> {
    const client = new Redis(port, '127.0.0.1', {
      ...{ password, retryStrategy: () => null },
      // A connection that failed keeps the process for so long when it is hung up.
      disconnectTimeout: 50,
    });
    // What goes wrong rejects the call.
    client.on('error', () => undefined);
    try {
      return await question(client);
    } finally {
      client.disconnect();
    }
  }

  it('keeps what it was told, and refuses rather than evicts', async () => {
    const running = await start();
    expect(await ask((client) => client.config('GET', 'appendonly'))).toEqual([
      'appendonly',
      'yes',
    ]);
    expect(await ask((client) => client.config('GET', 'maxmemory-policy'))).toEqual([
      ...['maxmemory-policy', 'noeviction'],
    ]);
    await ask((client) => client.set('told', 'before'));
    // It is Redis that hears the signal, and no shell in front of it.
    running.kill('SIGTERM');
    expect(await once(running, 'exit')).toEqual([0, null]);
    await start();
    expect(await ask((client) => client.get('told'))).toBe('before');
  });

  it('asks for the password, whatever its characters, which no other user can read', async () => {
    await start();
    await expect(ask((client) => client.get('told'), '')).rejects.toThrow(/NOAUTH/);
    expect(statSync(written).mode & 0o777).toBe(0o600);
  });
});
