import { createHash } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import { type AuditPage, PageSessions } from '@app/orders';
import type { TestApp } from '../support/app';
import { cookieIn, type PageApp, SAME_ORIGIN, SAME_SITE, startPageApp } from '../support/page-app';
import { expectProblem } from '../support/problem';

let api: TestApp;
let ann: string;
let place: PageApp['place'];

beforeAll(async () => ({ api, ann, place } = await startPageApp()));
afterAll(() => api?.close());

describe('the console', () => {
  const enter = (code: string, headers: Record<string, string> = SAME_ORIGIN) =>
    api.request('POST /console/session', { body: { code }, headers });
  const invite = (scopes = ['ops:read', 'ops:write']) =>
    api.app.get(PageSessions).invite({
      ...{ page: 'console' as const, subject: 'olga', scopes },
      ...{ codeLifetimeMs: 60_000, lifetimeMs: 3_600_000 },
    });

  /** What the security log has counted of it. */
  const count = async (event: string): Promise<number> => {
    const token = await api.token({ scope: 'metrics' });
    const { body } = await api.request<string>('GET /metrics', { token });
    const line = new RegExp(`^lastcall_security_events_total\\{event="${event}"\\} (\\d+)`, 'm');
    const counted = line.exec(body)?.[1];
    expect(counted).toBeDefined();
    return Number(counted);
  };

  it('opens by a code, once, and does what its scopes grant', async () => {
    const { code } = await invite(['ops:read']);
    for (const foreign of [{}, SAME_SITE]) {
      expectProblem(await enter(code, foreign), 403, 'forbidden');
    }
    const opened = await enter(code);
    expect(opened.status).toBe(204);
    expect(opened.headers.get('set-cookie')).toMatch(
      /^__Host-lc-console=[\w-]{43}; .*HttpOnly; Secure; SameSite=Strict$/,
    );
    expectProblem(await enter(code), 401, 'unauthorized');
    const headers = { cookie: cookieIn(opened.headers), ...SAME_ORIGIN };
    const { body } = await api.request('GET /console/session', { headers });
    expect(body).toMatchObject({ actor: 'olga', scopes: ['ops:read'], environment: 'test' });
    expect((await api.request('GET /v1/ops/overview', { headers })).status).toBe(200);
    const { id } = await place();
    const path = `POST /v1/ops/orders/${id}/force-close` as const;
    expectProblem(await api.request(path, { headers, body: { reason: 'why' } }), 403, 'forbidden');
  });

  it('is known beside a password that a browser goes on to send, as for the queue board', async () => {
    const cookie = cookieIn((await enter((await invite()).code)).headers);
    const authorization = `Basic ${Buffer.from('olga:a-token').toString('base64')}`;
    const headers = { cookie, authorization };
    expect((await api.request('GET /v1/ops/overview', { headers })).status).toBe(200);
    // Whoever sends a token means it.
    const meant = { cookie, authorization: 'Bearer a.forged.token' };
    expectProblem(
      await api.request('GET /v1/ops/overview', { headers: meant }),
      ...[401, 'unauthorized' as const],
    );
  });

  it('is the operator in what it changes', async () => {
    const { code } = await invite();
    const headers = { cookie: cookieIn((await enter(code)).headers), ...SAME_ORIGIN };
    const { id } = await place();
    const path = `POST /v1/ops/orders/${id}/force-close` as const;
    const foreign = { ...headers, ...SAME_SITE };
    const body = { reason: 'by the console' };
    expectProblem(await api.request(path, { headers: foreign, body }), 403, 'forbidden');
    expect((await api.request(path, { headers, body })).status).toBe(200);
    const [event] = await api.rows<{ actor: string }>(
      `SELECT actor FROM order_events WHERE order_id = $1 AND to_status = 'closed'`,
      [id],
    );
    expect(event).toEqual({ actor: 'olga' });
  });

  it('gives ten more minutes once, when the answer was lost and the operator sends it again', async () => {
    const { id } = await place();
    const headers = {
      cookie: cookieIn((await enter((await invite()).code)).headers),
      ...SAME_ORIGIN,
    };
    const extend = async (key: string) => {
      const body = { action: 'extend', ids: [id], reason: 'case 9', key };
      const { status } = await api.request('POST /console/api/actions', { headers, body });
      const [order] = await api.rows<{ version: number }>(
        'SELECT version FROM orders WHERE id = $1',
        [id],
      );
      return [status, order?.version];
    };
    expect([await extend('1'), await extend('1'), await extend('2')]).toEqual([
      ...[[200, 2] as const, [200, 2] as const, [200, 3] as const],
    ]);
  });

  it('changes nothing without a reason, nor several but by their number, and rehearses without', async () => {
    const ids = [await place(), await place()].map(({ id }) => id);
    const headers = {
      cookie: cookieIn((await enter((await invite()).code)).headers),
      ...SAME_ORIGIN,
    };
    const act = (body: object) =>
      api.request('POST /console/api/actions', {
        headers,
        body: { action: 'force_close', ids, ...body },
      });
    const reason = 'case 9';
    for (const lacking of [
      { reason },
      { reason, count: 1 },
      { count: 2 },
      { count: 2, dryRun: false },
    ]) {
      expectProblem(await act(lacking), 400, 'invalid_request');
    }
    expect((await act({ dryRun: true })).status).toBe(200);
    const statuses = async () =>
      (
        await api.rows<{ status: string }>('SELECT status FROM orders WHERE id = ANY ($1)', [ids])
      ).map(({ status }) => status);
    expect(await statuses()).toEqual(['pending_payment', 'pending_payment']);
    expect((await act({ reason, count: 2 })).status).toBe(200);
    expect(await statuses()).toEqual(['closed', 'closed']);
  });

  it('tells of each order by itself, when the database fails for one of several', async () => {
    const ids = [await place(), await place(), await place()].map(({ id }) => id);
    await api.rows(
      `CREATE FUNCTION poisoned() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'poisoned' USING ERRCODE = '23514'; END $$`,
    );
    await api.rows(
      `CREATE TRIGGER poisoned BEFORE UPDATE ON orders FOR EACH ROW
         WHEN (OLD.id = '${ids[1]}') EXECUTE FUNCTION poisoned()`,
    );
    const headers = {
      cookie: cookieIn((await enter((await invite()).code)).headers),
      ...SAME_ORIGIN,
    };
    const { status, body } = await api.request('POST /console/api/actions', {
      headers,
      body: { action: 'force_close', ids, count: 3, reason: 'case 9' },
    });
    await api.rows('DROP FUNCTION poisoned CASCADE');
    const failed = {
      ...{ id: ids[1], isDone: false, code: 'internal_error' },
      says: expect.stringContaining(`${ids[1]}: A fault of ours (SQLSTATE 23514)`),
    };
    expect([status, body]).toEqual([
      200,
      {
        results: [
          { id: ids[0], isDone: true, says: 'closed', code: null },
          failed,
          { id: ids[2], isDone: true, says: 'closed', code: null },
        ],
      },
    ]);
  });

  it('is told of in the security log, whoever gets in, out, or is refused', async () => {
    const events = ['console_opened', 'console_left', 'console_refused'];
    const before = await Promise.all(events.map(count));
    const { code } = await invite();
    const headers = { cookie: cookieIn((await enter(code)).headers), ...SAME_ORIGIN };
    await enter(code);
    await api.request('DELETE /console/session', { headers });
    expect(await Promise.all(events.map(count))).toEqual(before.map((n) => n + 1));
  });

  it('ends when it is left, and when it is revoked', async () => {
    for (const end of ['leave', 'revoke']) {
      const { code, id } = await invite();
      const headers = { cookie: cookieIn((await enter(code)).headers), ...SAME_ORIGIN };
      if (end === 'leave') await api.request('DELETE /console/session', { headers });
      else
        expect(await api.app.get(PageSessions).revoke('console', { id })).toMatchObject({
          sessions: 1,
        });
      expectProblem(await api.request('GET /console/session', { headers }), 401, 'unauthorized');
    }
  });

  it('ends the session that its operator names, once, and tells of it in the security log', async () => {
    const inside = async (scopes: string[]) => {
      const { code, id } = await invite(scopes);
      return { id, headers: { cookie: cookieIn((await enter(code)).headers), ...SAME_ORIGIN } };
    };
    const admin = await inside(['ops:read', 'ops:admin']);
    const other = await inside(['ops:read']);
    const look = async ({ headers }: typeof admin) =>
      (await api.request('GET /console/session', { headers })).status;
    const before = await count('console_revoked');
    const end = () =>
      api.request(`DELETE /console/api/sessions/${other.id}`, { headers: admin.headers });
    expect([(await end()).status, await look(other), await look(admin)]).toEqual([204, 401, 200]);
    expectProblem(await end(), 404, 'not_found');
    expect(await count('console_revoked')).toBe(before + 1);
  });

  it('sends no cookie in clear but on this machine', async () => {
    const { code } = await invite();
    const enterAt = (host: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { host, 'content-type': 'application/json', ...SAME_ORIGIN };
        request(`${api.baseUrl}/console/session`, { method: 'POST', headers }, resolve)
          .on('error', reject)
          .end(JSON.stringify({ code }));
      }).then((answer) => answer.resume());
    for (const host of ['shop.test', 'localhost.shop.test', '127.0.0.1.shop.test:80']) {
      const { statusCode, headers } = await enterAt(host);
      expect([statusCode, headers['set-cookie']]).toEqual([403, undefined]);
    }
    expect((await enterAt('localhost:8080')).statusCode).toBe(204);
  });

  it('takes no code that is over, and none of another page', async () => {
    const sessions = api.app.get(PageSessions);
    const late = await invite();
    await api.rows(`UPDATE page_sessions SET code_ends_at = now() WHERE id = $1`, [late.id]);
    const { id: orderId } = await place();
    const checkout = await sessions.invite({
      ...{ page: 'checkout', subject: 'ann', scopes: ['ops:read'], orderId },
      ...{ codeLifetimeMs: 60_000, lifetimeMs: 3_600_000 },
    });
    for (const code of [late.code, checkout.code, 'x', '']) {
      expect([400, 401]).toContain((await enter(code)).status);
    }
  });

  it("takes a shop's own token with ops:read, for as long as that is good", async () => {
    const token = await api.token({ sub: 'olga', scope: 'ops:read', expiresIn: 60 });
    const opened = await api.request('POST /console/session', { token, headers: SAME_ORIGIN });
    const headers = { cookie: cookieIn(opened.headers) };
    const { body } = await api.request<{ endsAt: string; scopes: string[] }>(
      'GET /console/session',
      { headers },
    );
    expect(body.scopes).toEqual(['ops:read']);
    expect(Date.parse(body.endsAt)).toBeLessThanOrEqual(Date.now() + 60_000);
    const customer = await api.request('POST /console/session', {
      ...{ token: ann, headers: SAME_ORIGIN },
    });
    expectProblem(customer, 403, 'forbidden');
  });

  it('pages through all that operators did, each once, the newest first', async () => {
    // Some of each book, of the same instant too: a page ends among them. Behind these more than a page of one book.
    await api.rows(
      `INSERT INTO operator_actions (at, actor, action, subject_kind, subject_id, reason)
       SELECT now() - i / 3 * interval '1 second', 'olga', 'paged', 'refund', gen_random_uuid(), 'a' || i
         FROM generate_series(120, 1, -1) AS i`,
    );
    const { id } = await place();
    await api.rows(
      `WITH told AS (
         INSERT INTO order_events (order_id, version, type, from_status, to_status, by, actor, reason, at)
         SELECT $1, 1 + i, 'paged', 'pending_payment', 'pending_payment', 'operator', 'olga', 'e' || i,
                now() - (400 - i) / 3 * interval '1 second'
           FROM generate_series(1, 400) AS i RETURNING order_id, version, at)
       INSERT INTO operator_events (order_id, version, at) SELECT order_id, version, at FROM told`,
      [id],
    );
    const headers = { cookie: cookieIn((await enter((await invite()).code)).headers) };
    const read: AuditPage['items'][number][] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = cursor && `?cursor=${encodeURIComponent(cursor)}`;
      const { body } = await api.request<AuditPage>(`GET /console/api/audit${query}`, { headers });
      expect(body.items.length).toBeLessThanOrEqual(100);
      read.push(...body.items);
      cursor = body.nextCursor;
    }
    const paged = read.filter(({ action }) => action === 'paged');
    expect(new Set(paged.map(({ reason }) => reason)).size).toBe(520);
    expect(paged).toHaveLength(520);
    const instants = read.map(({ at }) => at);
    expect(instants).toEqual([...instants].sort().reverse());
    for (const cursor of [
      'x',
      '1_',
      `9_2026-99-99T99:99:99.999Z_${id}_1`,
      `9_2026-02-30T00:00:00.000Z_${id}_1`,
    ]) {
      const answer = await api.request(`GET /console/api/audit?cursor=${cursor}`, { headers });
      if (cursor === '1_') expect(answer.status).toBe(200);
      else expectProblem(answer, 400, 'invalid_request');
    }
  });

  it('keeps hashes only', async () => {
    const kept = async (column: 'code_hash' | 'token_hash') => {
      const sql = `SELECT ${column} AS hash FROM page_sessions WHERE ${column} IS NOT NULL`;
      return (await api.rows<{ hash: Buffer }>(sql)).map(({ hash }) => hash.toString('hex'));
    };
    const sha256 = (secret: string) => createHash('sha256').update(secret).digest('hex');
    const { code } = await invite();
    expect(await kept('code_hash')).toContain(sha256(code));
    const [, token = ''] = cookieIn((await enter(code)).headers).split('=');
    const tokens = await kept('token_hash');
    expect(tokens).toContain(sha256(token));
    expect(tokens.filter((hash) => hash.length !== 64)).toEqual([]);
  });
});
