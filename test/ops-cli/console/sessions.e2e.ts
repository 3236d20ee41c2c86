import { type PageSession, PageSessions } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { lastcall, lastcallJson, operatorNamed } from '../../support/lastcall';
import { cookieIn, SAME_ORIGIN } from '../../support/page-app';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

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
    await app.rows('DELETE FROM page_sessions');
  });

  it('counts no link as a session that it ends, and no link at all that was too old', async () => {
    const sessions = app.app.get(PageSessions);
    const ann = {
      page: 'console',
      subject: 'ann',
      scopes: ['ops:read'],
      lifetimeMs: 60_000,
    } as const;
    await sessions.openFor(ann);
    await sessions.openFor(ann);
    const { code } = await sessions.invite({ ...ann, codeLifetimeMs: 60_000 });
    await sessions.invite({ ...ann, codeLifetimeMs: 0 });
    const revoke = ['console', 'revoke', '--all'];
    const { stdout } = await lastcall(app.config, revoke);
    expect(stdout).toBe('2 sessions ended, 1 unused link is void\n');
    expect(await sessions.open('console', code)).toBeUndefined();
    await sessions.openFor(ann);
    expect((await lastcall(app.config, revoke)).stdout).toBe('1 session ended\n');
    await sessions.invite({ ...ann, codeLifetimeMs: 60_000 });
    expect((await lastcallJson(app.config, revoke)).result).toEqual({ revoked: 0, links: 1 });
  });

  it('says that there is no such session to end, or that there is none any more', async () => {
    const sessions = app.app.get(PageSessions);
    await sessions.openFor({
      page: 'console',
      subject: 'ann',
      scopes: ['ops:read'],
      lifetimeMs: 60_000,
    });
    const [{ id = '' } = {}] = await app.rows<{ id: string }>(
      'SELECT id FROM page_sessions WHERE revoked_at IS NULL',
    );
    const revoke = (one: string) => lastcallJson(app.config, ['console', 'revoke', one]);
    expect(await revoke(id)).toMatchObject({ code: 0, result: { revoked: 1, links: 0 } });
    const error = { code: 'session_not_found', exitCode: 3 };
    for (const one of [id, '00000000-0000-7000-8000-000000000000']) {
      expect(await revoke(one)).toMatchObject({ code: 3, result: { error } });
    }
  });

  it('takes no piped text for the session to end', async () => {
    const { code, stderr } = await lastcall(app.config, ['console', 'revoke'], {
      input: '00000000-0000-7000-8000-000000000000\n',
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining('Give an id, or --all')]);
  });

  it.each([
    ['read', ['ops:read'], ['--access', 'read']],
    ['operate', ['ops:read', 'ops:write'], []],
    ['admin', ['ops:read', 'ops:write', 'ops:admin'], ['--access', 'admin']],
  ])('lets in to %s, under the name of --actor and for a working day', async (_, scopes, flags) => {
    const { result } = await lastcallJson<{ url: string; expiresAt: string }>(app.config, [
      ...['console', 'open', '--actor', 'olga', ...flags],
    ]);
    expect(Date.parse(result.expiresAt)).toBeLessThanOrEqual(Date.now() + MINUTE_MS);
    const code = result.url.split('#login=')[1];
    const entered = await app.request('POST /console/session', {
      body: { code },
      headers: SAME_ORIGIN,
    });
    const cookie = cookieIn(entered.headers);
    const { body } = await app.request<{ endsAt: string }>('GET /console/session', {
      headers: { cookie },
    });
    expect(body).toMatchObject({ actor: operatorNamed('olga'), scopes });
    const leftMs = Date.parse(body.endsAt) - Date.now();
    expect(leftMs).toBeGreaterThan(7 * HOUR_MS);
    expect(leftMs).toBeLessThanOrEqual(8 * HOUR_MS);
  });

  it('opens nothing, and invites nobody, at an address that is none of the web', async () => {
    const links = async () => (await app.rows('SELECT 1 FROM page_sessions')).length;
    const before = await links();
    for (const url of ['pay.example', 'ftp://pay.example', 'https://ann:x@pay.example', '']) {
      const opened = await lastcall(app.config, ['console', 'open', '--url', url]);
      expect(opened).toMatchObject({
        ...{ code: 2, stdout: '' },
        stderr: expect.stringContaining('--url must be a URL that begins with http') as string,
      });
    }
    expect(await links()).toBe(before);
    const { code, stdout } = await lastcall(app.config, [
      ...['console', 'open', '--url', 'https://pay.example'],
    ]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^https:..pay\.example\/console#login=/),
    ]);
  });
});
