import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { lastcall, lastcallJson } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

/** The API takes no token that is good for longer, nor one of another issuer or for somebody else. */
const SETTINGS = {
  ...{ AUTH_MAX_AGE: '90m', AUTH_ISSUER: 'https://id.shop.test', AUTH_AUDIENCE: 'orders' },
};
const TOKEN = ['token', '--sub', 'ann', '--scope', 'orders'];
const HOUR_MS = 3_600_000;

describe('lastcall token where tokens are good for less than a day', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld({ settings: SETTINGS })));
  afterAll(() => world?.close());

  const make = (...flags: string[]) =>
    lastcallJson<{ token: string; expiresAt: string }>(world.config, [...TOKEN, ...flags], {
      env: SETTINGS,
    });
  const statusWith = async (token: string): Promise<number> =>
    (await world.request('GET /v1/orders', { token })).status;

  it('makes one that the API takes, good for as long as it may be', async () => {
    const { code, result } = await make();
    expect([code, await statusWith(result.token)]).toEqual([0, 200]);
    const leftMs = Date.parse(result.expiresAt) - Date.now();
    expect(leftMs / HOUR_MS).toBeGreaterThan(1);
    expect(leftMs / HOUR_MS).toBeLessThanOrEqual(1.5);
    const shorter = await make('--hours', '1');
    expect([shorter.code, await statusWith(shorter.result.token)]).toEqual([0, 200]);
  });

  it('makes none that is to be good for longer, and says what the most is', async () => {
    const { code, stdout, stderr } = await lastcall(world.config, [...TOKEN, '--hours', '2'], {
      env: SETTINGS,
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--hours 2 is more than AUTH_MAX_AGE');
  });
});
