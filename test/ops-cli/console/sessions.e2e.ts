import type { PageSession } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { lastcallJson } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall console', () => {
  let app: CliWorld;

  beforeAll(async () => {
    app = await startCliWorld();
  });
  afterAll(() => app?.close());

  it('says that others may be logged in where it lists as many as it lists at most', async () => {
    const sessions = () =>
      lastcallJson<{ items: PageSession[] }>(app.config, ['console', 'sessions']);
    const open = (count: number) =>
      app.rows(
        `INSERT INTO page_sessions (page, subject, scopes, token_hash, opened_at, ends_at)
         SELECT 'console', 'ann', '{ops:read}', uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
                now(), now() + interval '1 hour' FROM generate_series(1, $1::int)`,
        [count],
      );
    await open(199);
    expect((await sessions()).stderr).toBe('');
    await open(2);
    const { result, stderr } = await sessions();
    expect(result.items).toHaveLength(200);
    expect(stderr).toContain('The newest 200; others may be logged in, too');
  });
});
