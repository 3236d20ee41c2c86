import { chmodSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config';
import { examineSettings } from './examine-settings';

const DAY_S = 86_400;
const OTHER = 'whsec_YW5vdGhlci13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=';
const SECRET = 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=';

describe('examineSettings', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'lastcall-settings-'));
    const file = join(home, 'secrets.json');
    writeFileSync(file, JSON.stringify({ SANDBOX_WEBHOOK_SECRET: SECRET }), { mode: 0o600 });
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const examined = (env: NodeJS.ProcessEnv = {}) =>
    examineSettings(
      loadConfig({
        ...{ LASTCALL_HOME: home, DATABASE_URL: 'postgres://127.0.0.1/shop' },
        ...{ REDIS_URL: 'redis://127.0.0.1', SANDBOX_WEBHOOK_SECRET: SECRET },
        ...{ AUTH_JWT_SECRET: 'a-secret-for-tests-of-32-characters', ...env },
      }),
    );
  const found = (env: NodeJS.ProcessEnv = {}) =>
    examined(env).flatMap(({ name, state }) => (state === 'finding' ? [name] : []));

  it('finds nothing wrong with those that are right, and repeats no secret', () => {
    const previous = { SANDBOX_WEBHOOK_SECRET_PREVIOUS: OTHER };
    expect(found(previous)).toEqual([]);
    expect(JSON.stringify(examined(previous))).not.toMatch(/YS13ZWJob29r|YW5vdGhlci13ZW/);
  });

  it('finds alarms that end with their process', () => {
    expect(found({ TIMER_DRIVER: 'memory' })).toEqual(['timer driver']);
  });

  it('finds a previous secret that is the current one: nothing was rotated', () => {
    expect(found({ SANDBOX_WEBHOOK_SECRET_PREVIOUS: SECRET })).toEqual(['previous webhook secret']);
  });

  it('finds a secret of a home that is older than a year, and knows no age of another', () => {
    const aged = (days: number): void => {
      const atS = Date.now() / 1_000 - days * DAY_S;
      utimesSync(join(home, 'secrets.json'), atS, atS);
    };
    aged(364);
    expect(found()).toEqual([]);
    aged(367);
    expect(found()).toEqual(['webhook secret']);
    expect(found({ SANDBOX_WEBHOOK_SECRET: OTHER })).toEqual([]);
  });

  it('finds a home that others can write to, though nothing is read from it', () => {
    chmodSync(join(home, 'secrets.json'), 0o666);
    expect(found()).toEqual(['home']);
  });
});
