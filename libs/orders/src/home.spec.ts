import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig } from './config';
import { homeFolder, writtenSettings } from './home';

const RUNTIME = {
  DATABASE_URL: 'postgres://127.0.0.1/shop',
  DATABASE_SCHEMA: 'shop_b',
  REDIS_URL: 'redis://127.0.0.1',
  HOST: '127.0.0.2',
  PORT: '4000',
  AUTH_ISSUER: 'https://id.shop.test',
  AUTH_AUDIENCE: 'orders',
};
const SECRETS = {
  AUTH_JWT_SECRET: 'a-secret-for-tests-of-32-characters',
  SANDBOX_WEBHOOK_SECRET: 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
};

describe('the home of an installation', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'lastcall-home-'));
    write('runtime.json', RUNTIME);
    write('secrets.json', SECRETS);
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const write = (name: string, content: unknown): void =>
    writeFileSync(join(home, name), JSON.stringify(content), { mode: 0o600 });
  const load = (env: NodeJS.ProcessEnv = {}) => loadConfig({ LASTCALL_HOME: home, ...env });
  const refusal = (env: NodeJS.ProcessEnv = {}): string => {
    try {
      load(env);
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
      throw error;
    }
    return 'accepted';
  };

  it('fills in what the environment does not set', () => {
    expect(load()).toMatchObject({ ...SECRETS, ...RUNTIME, PORT: 4000 });
    expect(load({ PORT: '5000' }).PORT).toBe(5000);
  });

  it('has no secret of tokens where what runs takes those of an issuer alone', () => {
    const issuer = { AUTH_JWKS_URL: 'https://id.shop.test/keys' };
    write('runtime.json', { ...RUNTIME, ...issuer });
    for (const shell of [{}, { AUTH_JWT_SECRET: SECRETS.AUTH_JWT_SECRET }]) {
      expect(load(shell)).toMatchObject(issuer);
      expect(load(shell).AUTH_JWT_SECRET).toBeUndefined();
    }
  });

  it('is the one of the project, whatever folder somebody stands in', () => {
    const stranger = mkdtempSync(join(tmpdir(), 'lastcall-stranger-'));
    const here = process.cwd();
    try {
      process.chdir(stranger);
      expect(homeFolder(undefined)).toBe(join(__dirname, '../../..', '.lastcall'));
    } finally {
      process.chdir(here);
      rmSync(stranger, { recursive: true });
    }
  });

  it('gives nothing but what the launcher writes', () => {
    const smuggled = {
      STRIPE_API_URL: 'http://127.0.0.1:9',
      SANDBOX_WEBHOOK_SECRET_PREVIOUS: SECRETS.SANDBOX_WEBHOOK_SECRET,
      RATE_LIMIT: 'off',
    };
    write('runtime.json', { ...RUNTIME, ...smuggled, PORT: 4000, AUTH_JWT_SECRET: 'theirs' });
    write('secrets.json', { ...SECRETS, ...smuggled });
    const { PORT: _, ...known } = RUNTIME;
    expect(writtenSettings(home)).toEqual({ ...known, ...SECRETS });
  });

  it('is not read when the environment names the database', () => {
    write('runtime.json', '{');
    expect(refusal({ DATABASE_URL: RUNTIME.DATABASE_URL })).toMatch(
      /SANDBOX_WEBHOOK_SECRET is missing.*; with DATABASE_URL in the environment LASTCALL_HOME is not read/,
    );
  });

  it('is not said to tell what it never does', () => {
    const told = refusal({ DATABASE_URL: RUNTIME.DATABASE_URL, PAYMENT_PROVIDERS: 'stripe' });
    expect(told).toMatch(/STRIPE_SECRET_KEY is missing[^;]*\n/);
  });

  it('is named where nothing runs with it, and the one within that may have been meant', () => {
    const folder = join(home, 'shop');
    expect(refusal({ LASTCALL_HOME: folder })).toMatch(new RegExp(`found .* in ${folder}$`, 'm'));
    mkdirSync(join(folder, '.lastcall'), { recursive: true });
    expect(refusal({ LASTCALL_HOME: folder })).toContain(
      `in ${folder}: did you mean ${folder}/.lastcall?`,
    );
  });

  it.each(['runtime.json', 'secrets.json'])('refuses a %s that others can write', (name) => {
    chmodSync(join(home, name), 0o666);
    expect(refusal()).toMatch(new RegExp(`${name} can be written by others`));
  });

  it('refuses a folder that others can write', () => {
    chmodSync(home, 0o777);
    expect(refusal()).toMatch(/^\/\S+ can be written by others/);
  });

  it('refuses a link', () => {
    const elsewhere = join(home, 'elsewhere.json');
    writeFileSync(elsewhere, JSON.stringify(RUNTIME), { mode: 0o600 });
    rmSync(join(home, 'runtime.json'));
    symlinkSync(elsewhere, join(home, 'runtime.json'));
    expect(refusal()).toMatch(/runtime\.json is a link/);
  });

  it('refuses a pipe, and does not wait for what comes out of it', () => {
    rmSync(join(home, 'runtime.json'));
    execFileSync('mkfifo', ['-m', '600', join(home, 'runtime.json')]);
    expect(refusal()).toContain('runtime.json is no file');
  });

  it('refuses what is another user’s', () => {
    const owner = process.getuid?.() ?? 0;
    const self = jest.spyOn(process, 'getuid').mockReturnValue(owner + 1);
    try {
      expect(refusal()).toContain(`belongs to user ${owner}, and this is user ${owner + 1}`);
    } finally {
      self.mockRestore();
    }
  });

  it('says which file it cannot read, and nothing of what is in it', () => {
    writeFileSync(join(home, 'secrets.json'), '{"AUTH_JWT_SECRET": "hunter2', { mode: 0o600 });
    expect(refusal()).toMatch(/secrets\.json cannot be read as JSON/);
    expect(refusal()).not.toContain('hunter2');
  });
});
