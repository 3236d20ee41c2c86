import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { insertOrders } from '../support/insert-orders';
import { lastcall } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall, with contexts', () => {
  let world: CliWorld;
  let folder: string;
  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'lastcall-contexts-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('needs no secret to look, and keeps by a name where to look', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    const env = { XDG_CONFIG_HOME: folder, LASTCALL_HOME: '' };
    const { DATABASE_URL: url } = world.config;
    const added = await lastcall(undefined, ['context', 'add', 'prod', '--database-url', url], {
      env,
    });
    expect(added.code).toBe(0);
    const several = ['context', 'add', 'two', '--database-url', 'postgres://h1:1,h2:2/shop'];
    const named = await lastcall(undefined, several, { env });
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('one host only')]);
    const { stdout } = await lastcall(undefined, ['context', 'list'], { env });
    expect(stdout).toContain(`prod  ${url.replace(/:[^:@/]+@/, ':***@')}`);
    const show = ['orders', 'show', order?.id as string, '--json'];
    const shown = await lastcall(undefined, show, { env });
    expect(shown.code).toBe(0);
    // Nobody has said where the alarms are.
    expect(JSON.parse(shown.stdout)).toMatchObject({ deadlines: [{ alarm: 'unknown' }] });
    const args = ['orders', 'force-close', order?.id as string, '--reason', 'case 17', '--yes'];
    const refused = await lastcall(undefined, args, { env });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/Installation: context prod[^]*REDIS_URL is missing/);
    const resume = ['timeouts', 'resume', '--reason', 'case 17', '--yes'];
    const { stderr } = await lastcall(undefined, resume, { env });
    expect(stderr.match(/Installation: /g)).toHaveLength(1);
    expect((await lastcall(undefined, ['context', 'remove', 'prod'], { env })).code).toBe(0);
    expect((await lastcall(undefined, show, { env })).code).toBe(6);
  });

  it('keeps which of two shops in one database is meant, whatever the shell says', async () => {
    const env = { XDG_CONFIG_HOME: folder, LASTCALL_HOME: '', DATABASE_SCHEMA: 'lastcall' };
    const run = (...args: string[]) => lastcall(undefined, args, { env });
    const add = (name: string, ...more: string[]) =>
      run('context', 'add', name, '--database-url', world.config.DATABASE_URL, ...more);
    expect((await add('shop-b', '--schema', 'shop_b')).code).toBe(0);
    expect((await add('shop-a')).code).toBe(0);
    const { stdout } = await run('context', 'list', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      items: [
        { name: 'shop-b', schema: 'shop_b' },
        { name: 'shop-a', schema: null },
      ],
    });
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    const show = ['orders', 'show', order?.id as string, '--context'];
    expect((await run(...show, 'shop-a')).code).toBe(0);
    // There is no such schema, and the tables of the other shop are not taken for those of this one.
    expect((await run(...show, 'shop-b')).code).toBe(6);
    const wrong = await add('wrong', '--schema', 'Shop B');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('schema')]);
  });

  it('uses the first that is kept until another one is named, and never another by itself', async () => {
    const env = { XDG_CONFIG_HOME: folder, LASTCALL_HOME: '' };
    const run = (...args: string[]) => lastcall(undefined, args, { env });
    const used = async () => {
      const { stdout } = await run('context', 'list', '--json');
      const { items } = JSON.parse(stdout) as { items: { name: string; current: boolean }[] };
      return items.filter(({ current }) => current).map(({ name }) => name);
    };
    const add = (name: string, schema: string) => {
      const address = ['--database-url', world.config.DATABASE_URL, '--schema', schema];
      return run('context', 'add', name, ...address);
    };
    await add('shop-a', 'lastcall');
    await add('shop-b', 'shop_b');
    expect(await used()).toEqual(['shop-a']);
    const list = ['orders', 'list'];
    expect((await run(...list)).code).toBe(0);
    const meant = await run('context', 'use', 'shop-b');
    expect([meant.code, await used()]).toEqual([0, ['shop-b']]);
    expect((await run(...list)).code).toBe(6);
    const mistyped = await run('context', 'use', 'shop-c');
    expect([mistyped.code, await used()]).toEqual([3, ['shop-b']]);
    expect((await run('context', 'remove', 'shop-c')).code).toBe(3);
    await run('context', 'remove', 'shop-a');
    expect(await used()).toEqual(['shop-b']);
    await add('shop-a', 'lastcall');
    await run('context', 'remove', 'shop-b');
    expect(await used()).toEqual([]);
    // Commands say that they do not know where, instead of going on in the shop that is left.
    const lost = await run(...list);
    expect([lost.code, lost.stderr]).toEqual([6, expect.stringContaining('DATABASE_URL')]);
  });

  it('keeps the home of an installation, and goes by that alone', async () => {
    const home = join(folder, 'shop', '.lastcall');
    mkdirSync(home, { recursive: true });
    const { DATABASE_URL } = world.config;
    writeFileSync(join(home, 'runtime.json'), JSON.stringify({ DATABASE_URL }), { mode: 0o600 });
    const env = { XDG_CONFIG_HOME: folder, LASTCALL_HOME: '', DATABASE_SCHEMA: 'elsewhere' };
    const run = (...args: string[]) => lastcall(undefined, args, { env });
    const add = ['context', 'add', 'local', '--of-home', home];
    expect((await run(...add, '--database-url', DATABASE_URL)).code).toBe(2);
    const { stdout } = await run(...add, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ name: 'local', current: true, databaseUrl: null });
    expect((await run('orders', 'list')).code).toBe(0);
    rmSync(join(home, 'runtime.json'));
    const gone = await run('orders', 'list');
    expect([gone.code, gone.stderr]).toEqual([6, expect.stringContaining(home)]);
  });

  it('keeps each of several that are added at once', async () => {
    const names = [...'abcdefghijkl'];
    const env = { XDG_CONFIG_HOME: folder };
    const added = await Promise.all(
      names.map((name) => {
        const args = ['context', 'add', name, '--database-url', 'postgres://h/shop'];
        return lastcall(undefined, args, { env, alone: true });
      }),
    );
    expect(added.map(({ code }) => code)).toEqual(names.map(() => 0));
    const { stdout } = await lastcall(undefined, ['context', 'list', '--json'], { env });
    const { items } = JSON.parse(stdout) as { items: { name: string; current: boolean }[] };
    expect(items.map(({ name }) => name).sort()).toEqual(names);
    const isFirst = (said: string) => said.includes('It is used from now on');
    expect(items.filter(({ current }) => current)).toHaveLength(1);
    expect(added.filter(({ stderr }) => isFirst(stderr))).toHaveLength(1);
  });

  it('keeps a Redis of several servers as well, and shows no password of it', async () => {
    const run = (...args: string[]) =>
      lastcall(undefined, ['context', ...args], { env: { XDG_CONFIG_HOME: folder } });
    const add = (name: string, redisUrl: string) =>
      run('add', name, '--database-url', 'postgres://h/shop', '--redis-url', redisUrl);
    for (const [name, address] of [
      ['cluster', 'rediss://:hunter2@h1:6379,h2:6379'],
      ['guarded', 'redis+sentinel://us%40er:hunter2@h1:26379,h2:26379/mymaster'],
      ['six', 'redis://[fd00::1]:6379,[fd00::2]:6379'],
    ] as const) {
      expect((await add(name, address)).code).toBe(0);
      const { stdout } = await run('list');
      expect(stdout).toContain(address.replace('hunter2', '***'));
    }
    // Neither address stands where others of this machine can read it.
    const unseen = await lastcall(
      undefined,
      ['context', 'add', 'unseen', '--database-url', '-', '--redis-url', '-'],
      {
        env: { XDG_CONFIG_HOME: folder },
        input: 'postgres://us:hunter2@h/shop\nredis://:hunter3@h1:6379/1\n',
      },
    );
    expect([unseen.code, unseen.stderr]).toEqual([0, expect.not.stringContaining('Error')]);
    const { stdout: kept } = await run('list');
    expect(kept).toMatch(/postgres:\/\/us:\*\*\*@h\/shop +redis:\/\/:\*\*\*@h1:6379\/1/);
    const masterless = await add('none', 'redis+sentinel://u:hunter2@h1:26379');
    expect(masterless.code).toBe(2);
    expect(masterless.stderr).toContain('the redis address names no master: .../name');
    expect(masterless.stderr).not.toContain('hunter2');
  });
});
