import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPlace } from '@app/timeout';
import { startApiProcess } from '../support/api-process';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { lastcall } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

/** What packages of ours look for, some of them in the folder that a process is started in. */
const PACKAGES = ['pg', 'pg-native', 'pg-query-stream', 'ioredis', 'redis', 'typeorm', 'ts-node'];

describe('a folder of a stranger', () => {
  let world: CliWorld;
  let folder: string;
  let ran: string;

  beforeAll(async () => {
    world = await startCliWorld();
    folder = mkdtempSync(join(tmpdir(), 'lastcall-stranger-'));
    ran = join(folder, 'ran');
    const code = `require('node:fs').appendFileSync(${JSON.stringify(ran)}, __filename);`;
    for (const name of PACKAGES) {
      mkdirSync(join(folder, 'node_modules', name), { recursive: true });
      writeFileSync(join(folder, 'node_modules', name, 'index.js'), code);
    }
    for (const file of ['ormconfig.js', 'index.js']) writeFileSync(join(folder, file), code);
  });
  afterEach(() => rmSync(ran, { force: true }));
  afterAll(async () => {
    await world?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['stats', 0],
    ['orders list', 0],
    ['targets list', 3],
    ['timeouts verify', 0],
    ['doctor', 6],
  ])('gives no code to the command: %s', async (command, code) => {
    expect(await lastcall(world.config, command.split(' '), { folder })).toMatchObject({ code });
    expect(existsSync(ran)).toBe(false);
  });

  it.each(['migrate', 'main'])('gives no code to the application: %s', async (script) => {
    const { REDIS_URL = '' } = world.config;
    const app = startApiProcess({ DATABASE_URL: world.ownerUrl, REDIS_URL }, script, folder);
    if (script === 'migrate') expect(await app.ended).toMatchObject({ code: 0 });
    else await app.listening;
    await app.stop();
    expect(existsSync(ran)).toBe(false);
  });

  it('gives no code to the connections beside those of a host', async () => {
    const before = process.cwd();
    process.chdir(folder);
    try {
      const place = await findPlace({ url: world.config.DATABASE_URL }, 'lastcall_timeout');
      await (await place.open({ name: 'lastcall drains', connections: 1 })).destroy();
    } finally {
      process.chdir(before);
    }
    expect(existsSync(ran)).toBe(false);
  });
});
