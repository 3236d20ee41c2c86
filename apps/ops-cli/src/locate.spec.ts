import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changeContexts, contextsFile, readContexts, writeContexts } from './contexts';
import { locate, type Whereabouts } from './locate';

const DATABASE_URL = 'postgres://shop:hidden@db.example/shop';

describe('locate', () => {
  let root: string;
  let notes: string[];
  let env: NodeJS.ProcessEnv;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'lastcall-locate-'));
    notes = [];
    env = { XDG_CONFIG_HOME: join(root, 'config') };
  });
  afterEach(() => rmSync(root, { recursive: true }));

  /** A folder with an installation that runs, and one below it to stand in. */
  const project = (name: string): string => {
    const below = join(root, name, 'src', 'deep');
    mkdirSync(below, { recursive: true, mode: 0o755 });
    mkdirSync(join(root, name, '.lastcall'), { mode: 0o700 });
    writeFileSync(join(root, name, '.lastcall', 'runtime.json'), '{}');
    return below;
  };
  const from = (folder: string, flags: Whereabouts = {}) =>
    locate(flags, env, (line) => notes.push(line), folder);

  it('finds the installation of a folder above, and nothing where there is none', () => {
    const home = join(root, 'shop', '.lastcall');
    expect(from(project('shop'))).toMatchObject({ env: { LASTCALL_HOME: home }, what: home });
    expect(from(root)).toEqual({ env, what: null });
    expect(notes).toEqual([]);
  });

  it('takes none of the addresses of a found installation from the shell, which may mean another', () => {
    const elsewhere = { DATABASE_SCHEMA: 'shop_b', REDIS_URL: 'redis://elsewhere' };
    const api = { HOST: '127.0.0.9', PORT: '1', SANDBOX_URL: 'http://127.0.0.9' };
    const issuer = { AUTH_JWKS_URL: 'https://id.test/keys', AUTH_ISSUER: 'https://id.test' };
    const tokens = { ...issuer, AUTH_AUDIENCE: 'others', AUTH_MAX_AGE: '1h' };
    // It may have been started with this one, which it does not write down.
    const kept = { ...env, AUTH_JWT_SECRET: 'given to npm start' };
    env = { ...kept, ...elsewhere, ...api, ...tokens };
    const home = join(root, 'shop', '.lastcall');
    expect(from(project('shop')).env).toEqual({ ...kept, LASTCALL_HOME: home });
  });

  it('goes by what is said before it looks around', () => {
    const folder = project('shop');
    env = { ...env, DATABASE_URL, REDIS_URL: 'redis://elsewhere' };
    expect(from(folder)).toEqual({ env, what: null });
    const named = from(folder, { home: '/srv/shop' });
    expect(named.env).toEqual({ XDG_CONFIG_HOME: env.XDG_CONFIG_HOME, LASTCALL_HOME: '/srv/shop' });
    expect(() => from(folder, { home: '/srv/shop', context: 'prod' })).toThrow('one of the two');
  });

  it('takes no secret from the shell that a named home has', () => {
    const secrets = ['AUTH_JWT_SECRET', 'HISTORY_SEAL_KEY', 'SANDBOX_WEBHOOK_SECRET'];
    const plain = env;
    env = { ...env, ...Object.fromEntries(secrets.map((name) => [name, 'of another shop'])) };
    writeContexts(env, { current: null, contexts: { local: { LASTCALL_HOME: '/srv/shop' } } });
    for (const flags of [{ home: '/srv/shop' }, { context: 'local' }]) {
      expect(from(root, flags).env).toEqual({ ...plain, LASTCALL_HOME: '/srv/shop' });
    }
  });

  it('says so when others can write to the folder, and takes no link', () => {
    const open = project('open');
    chmodSync(join(root, 'open'), 0o777);
    expect(from(open).env.LASTCALL_HOME).toBe(join(root, 'open', '.lastcall'));
    expect(notes).toEqual([expect.stringContaining(`others can write to ${join(root, 'open')}`)]);
    const linked = join(root, 'linked');
    mkdirSync(linked);
    symlinkSync(join(root, 'open', '.lastcall'), join(linked, '.lastcall'));
    expect(from(linked)).toEqual({ env, what: null });
    expect(notes[1]).toContain('not taken');
  });

  it('uses the context in use, or the one asked for, and tells its name without the password', () => {
    const prod = { DATABASE_URL, REDIS_URL: 'redis://redis.example' };
    const contexts = { prod, local: { LASTCALL_HOME: '/srv/shop' } };
    writeContexts(env, { current: 'prod', contexts });
    expect(statSync(contextsFile(env)).mode & 0o777).toBe(0o600);
    const { env: found, what } = from(project('shop'));
    expect(found).toEqual({ ...env, ...prod });
    expect(what).toBe('context prod (postgres://shop:***@db.example/shop)');
    expect(from(root, { context: 'local' }).env.LASTCALL_HOME).toBe('/srv/shop');
    const asked = { DATABASE_URL: 'postgres://db.example/shop?user=shop&password=hunter2' };
    writeContexts(env, { current: 'asked', contexts: { asked } });
    expect(from(root).what).not.toContain('hunter2');
    expect(() => from(root, { context: 'constructor' })).toThrow('There is no context');
  });

  it('goes by the schema of a context, or of a home, and by none of the shell', () => {
    env = { ...env, DATABASE_SCHEMA: 'shop_a' };
    const contexts = {
      a: { DATABASE_URL },
      b: { DATABASE_URL, DATABASE_SCHEMA: 'shop_b' },
      local: { LASTCALL_HOME: '/srv/shop' },
    };
    writeContexts(env, { current: 'b', contexts });
    const { env: found, what } = from(root);
    expect(found.DATABASE_SCHEMA).toBe('shop_b');
    expect(what).toBe('context b (postgres://shop:***@db.example/shop, schema shop_b)');
    for (const flags of [{ context: 'a' }, { context: 'local' }, { home: '/srv/shop' }]) {
      expect(from(root, flags).env).not.toHaveProperty('DATABASE_SCHEMA');
    }
    expect(from(root, { context: 'a' }).what).toBe(
      'context a (postgres://shop:***@db.example/shop)',
    );
  });

  it('reads no contexts that others can read or write, and repeats nothing of what is broken', () => {
    writeContexts(env, { current: null, contexts: {} });
    chmodSync(contextsFile(env), 0o644);
    expect(() => readContexts(env)).toThrow('is not read');
    chmodSync(contextsFile(env), 0o600);
    const broken = [`{"a": "${DATABASE_URL}`, '{"contexts":null}', '{"contexts":{"a":null}}'];
    for (const text of [...broken, '{"contexts":{},"current":7}', '[]']) {
      writeFileSync(contextsFile(env), text);
      expect(() => readContexts(env)).toThrow(
        expect.objectContaining({
          message: expect.stringContaining('is not read'),
          parts: expect.not.objectContaining({ why: expect.stringContaining('hidden') }),
        }),
      );
    }
  });

  it('says where contexts cannot be kept', async () => {
    env = { ...env, XDG_CONFIG_HOME: join(root, 'file') };
    writeFileSync(env.XDG_CONFIG_HOME as string, '');
    await expect(changeContexts(env, (kept) => kept)).rejects.toMatchObject({
      parts: { code: 'contexts_refused', what: `${contextsFile(env)} cannot be written (ENOTDIR)` },
    });
  });

  it('changes contexts in turn, and waits for nobody who was killed at it', async () => {
    const lock = `${contextsFile(env)}.lock`;
    const add = (name: string) =>
      changeContexts(env, (kept) => ({ ...kept, contexts: { ...kept.contexts, [name]: {} } }));
    await add('a');
    writeFileSync(lock, '');
    const adding = add('c');
    writeContexts(env, { current: null, contexts: { a: {}, b: {} } });
    rmSync(lock);
    await adding;
    expect(Object.keys(readContexts(env).contexts)).toEqual(['a', 'b', 'c']);
    writeFileSync(lock, '');
    utimesSync(lock, new Date(0), new Date(0));
    await add('d');
    expect(Object.keys(readContexts(env).contexts)).toEqual(['a', 'b', 'c', 'd']);
    expect(existsSync(lock)).toBe(false);
  });
});
