import { once } from 'node:events';
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { isAlive } from '../services/index.mjs';
import {
  SERVERS_ELSEWHERE,
  filesOf,
  launches,
  pidsOf,
  running,
  runtimeOf,
  standInsRunning,
} from './launches';

jest.setTimeout(60_000);

const stage = launches();

it('refuses to start twice in one home and leaves the first alone', async () => {
  const first = stage.start(SERVERS_ELSEWHERE);
  await first.says(running);
  const runtime = runtimeOf(stage.home);
  const second = stage.start(SERVERS_ELSEWHERE);
  expect(await second.exitCode()).toBe(1);
  expect(second.output()).toContain(`process ${first.pid}`);
  expect(second.output()).toContain(`http://127.0.0.1:${runtime.PORT}`);
  expect(second.output()).toMatch(/LASTCALL_HOME=\S+ PORT=\d+ npm start/);
  expect(runtimeOf(stage.home)).toEqual(runtime);
  expect((await fetch(`http://127.0.0.1:${runtime.PORT}/health/ready`)).ok).toBe(true);
});

it('does not use what others could have written', async () => {
  writeFileSync(join(stage.home, 'secrets.json'), '{"AUTH_JWT_SECRET":"known to others"}');
  chmodSync(join(stage.home, 'secrets.json'), 0o666);
  const launched = stage.start(SERVERS_ELSEWHERE);
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toMatch(/secrets\.json is another user's, or can be written by others/);
});

it('closes a folder that was made with an open umask', async () => {
  chmodSync(stage.home, 0o775);
  await stage.start(SERVERS_ELSEWHERE).says(running);
  expect(statSync(stage.home).mode & 0o777).toBe(0o755);
});

it('names the setting when the port that was asked for is taken', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const launched = stage.start({ ...SERVERS_ELSEWHERE, PORT: String(port) });
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toContain(`PORT=${port} is taken`);
  server.close();
});

it.each([
  ['PORT', 'abc', 'must be a whole number from 0 to 65535'],
  ['PORT', '99999', 'must be a whole number from 0 to 65535'],
  ['SANDBOX_PORT', '3001.5', 'must be a whole number from 0 to 65535'],
  ['HOST', 'shop.local', 'must be an IP address such as 127.0.0.1'],
  ['SANDBOX_HOST', 'my host', 'must be an IP address such as 127.0.0.1'],
])('names %s=%s before it starts anything', async (name, value, rule) => {
  const launched = stage.start({ [name]: value });
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output().trim()).toBe(`${name} ${rule}, not "${value}"`);
  expect(filesOf(stage.home)).not.toContain('postgres');
});

it('takes the next free port when a default is taken', async () => {
  const server = createServer().listen(3000, '127.0.0.1');
  // Somebody else may have it already.
  await new Promise((resolve) => server.once('listening', resolve).once('error', resolve));
  const launched = stage.start({ ...SERVERS_ELSEWHERE, PORT: '' });
  await launched.says(running);
  expect(launched.output()).toMatch(/Port 3000 is taken: using \d+/);
  server.close();
});

it('shows what is wrong with the settings, and stops what it had started', async () => {
  const launched = stage.start({ STAND_IN_MIGRATE: 'refuses' });
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toContain('These settings are wrong:\n  PORT');
  expect(filesOf(stage.home)).not.toContain('lock');
  expect(filesOf(stage.home)).not.toContain('runtime.json');
  expect(filesOf(stage.home)).toContain('postgres');
  expect(existsSync(join(stage.home, 'postgres', 'postmaster.pid'))).toBe(false);
  expect(existsSync(join(stage.home, 'redis', 'redis.pid'))).toBe(false);
});

it('leaves nothing running where what it has started cannot be written down', async () => {
  const launched = stage.start({ ...SERVERS_ELSEWHERE, STAND_IN_MIGRATE: 'fills the disk' });
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toContain('ENOSPC: no space left on device');
  expect(standInsRunning()).toEqual([]);
});

it('shows the last words of an app that does not start', async () => {
  const launched = stage.start({ ...SERVERS_ELSEWHERE, STAND_IN_APP: 'refuses' });
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toContain('PAYMENT_WINDOW must be a duration');
  expect(filesOf(stage.home)).not.toContain('lock');
  expect(filesOf(stage.home)).not.toContain('processes.json');
});

it('stops everything and fails when a process it started dies', async () => {
  const launched = stage.start(SERVERS_ELSEWHERE);
  await launched.says(running);
  const [sandbox, app] = pidsOf(stage.home);
  process.kill(sandbox as number, 'SIGKILL');
  expect(await launched.exitCode()).toBe(1);
  expect(launched.output()).toContain('the sandbox was ended by SIGKILL');
  expect(isAlive(app as number)).toBe(false);
});
