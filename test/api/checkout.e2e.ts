import { createHash } from 'node:crypto';
import { LastcallError, type OrderView } from '@app/orders';
import { Client } from 'pg';
import { WebAssets } from '../../apps/api/src/pages/web-assets';
import type { TestApp } from '../support/app';
import { insertOrders } from '../support/insert-orders';
import { cookieIn, type PageApp, SAME_ORIGIN, SAME_SITE, startPageApp } from '../support/page-app';
import { expectProblem } from '../support/problem';

let api: TestApp;
let ann: string;
let place: PageApp['place'];

beforeAll(async () => ({ api, ann, place } = await startPageApp()));
afterEach(() => jest.restoreAllMocks());
afterAll(() => api?.close());

describe('a checkout', () => {
  const link = async (id: string): Promise<string> => {
    const answer = await api.request<{ url: string }>(`POST /v1/orders/${id}/checkout-link`, {
      token: ann,
    });
    expect(answer.status).toBe(201);
    return answer.body.url;
  };
  const open = (url: string, cookie = '', method = 'GET') =>
    fetch(url, { method, headers: { ...(cookie ? { cookie } : {}), 'accept-language': 'de-AT' } });

  it('opens by its link once, and then by the cookie it was traded for', async () => {
    const { id } = await place();
    const url = await link(id);
    const looked = await open(url, '', 'HEAD');
    expect(looked.status).toBe(410);
    const first = await open(url);
    expect(first.status).toBe(200);
    expect(first.headers.get('set-cookie')).toMatch(
      /^__Host-lc-checkout-[0-9a-f-]{36}=[\w-]{43}; .*Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    expect(first.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src/);
    expect(first.headers.get('cache-control')).toBe('no-store');
    const html = await first.text();
    expect(html).toContain('<html lang="de" dir="ltr">');
    expect(html).toContain('Ihre Bestellung wartet auf die Zahlung');
    expect(html).toContain(`href="/checkout/${id}/pay"`);
    const again = await open(url);
    expect(again.status).toBe(410);
    await api.request(`POST /v1/orders/${id}/cancel`, { token: ann });
    const cookie = cookieIn(first.headers);
    const paying = await fetch(`${api.baseUrl}/checkout/${id}/pay`, {
      ...{ headers: { ...SAME_ORIGIN, cookie }, redirect: 'manual' as const },
    });
    expect([paying.status, paying.headers.get('location')]).toEqual([
      303,
      `/checkout/${id}?refused`,
    ]);
    expect(await again.text()).toContain('Dieser Link gilt nicht mehr');
    expect((await open(url, cookieIn(first.headers))).status).toBe(200);
  });

  it('shows without JavaScript what is to be paid until when, and how while that is possible', async () => {
    const { body: order } = await api.request<OrderView>('POST /v1/orders', {
      token: ann,
      headers: { 'idempotency-key': 'two-bags' },
      body: { items: [{ sku: 'TEA-SENCHA', quantity: 2 }] },
    });
    const euros = { style: 'currency', currency: 'EUR' } as const;
    const sum = new Intl.NumberFormat('en', euros).format(order.amount / 100);
    const first = await open(`${await link(order.id)}&lang=en`);
    const html = await first.text();
    expect(html).toContain(
      '<main class="state-waiting"><h1>Your order is waiting for your payment</h1>',
    );
    expect(html).toContain(`<li><span>2 × TEA-SENCHA</span><span>${sum}</span></li>`);
    expect(html).toContain(`<p class="total"><span>Total</span><strong>${sum}</strong></p>`);
    expect(html).toContain(`<time datetime="${order.payBy}">`);
    expect(html).toContain(`href="/checkout/${order.id}/pay"`);
    expect(html).not.toContain('role="alert"');
    const page = `${api.baseUrl}/checkout/${order.id}?lang=en`;
    const back = await open(`${page}&refused`, cookieIn(first.headers));
    expect(await back.text()).toContain('<p role="alert">That did not work. Please try again.</p>');
    await api.request(`POST /v1/orders/${order.id}/cancel`, { token: ann });
    const over = await open(`${page}&refused`, cookieIn(first.headers));
    const main = (await over.text()).split('</main>')[0];
    expect(main).not.toMatch(/\/pay"|<time|role="alert"/);
  });

  it('lets its browser in for a day, whatever the clocks of this machine and of the browser say', async () => {
    const first = await open(await link((await place()).id));
    const [, maxAgeS] = /; Max-Age=(\d+);/.exec(first.headers.get('set-cookie') ?? '') ?? [];
    expect(Number(maxAgeS)).toBeGreaterThan(86_000);
    expect(Number(maxAgeS)).toBeLessThanOrEqual(86_400);
    expect(first.headers.get('set-cookie')).not.toContain('Expires');
  });

  it('opens in a browser that has opened hundreds today, as the till of a shop', async () => {
    const orders = await insertOrders(api, { count: 200, closesInMs: 3_600_000 });
    const code = (id: string): string => createHash('sha256').update(id).digest('base64url');
    await api.rows(
      `INSERT INTO page_sessions (page, subject, scopes, order_id, code_hash, code_ends_at, ends_at)
       SELECT 'checkout', 'ann', '{orders}', id, sha256(code::bytea), now() + interval '1 h', now() + interval '1 d'
         FROM unnest($1::uuid[], $2::text[]) AS o (id, code)`,
      [orders.map(({ id }) => id), orders.map(({ id }) => code(id))],
    );
    const jar = new Map<string, string>();
    const statuses = new Set<number>();
    for (const { id } of orders) {
      const cookie = [...jar.values()].join('; ');
      const answer = await open(`${api.baseUrl}/checkout/${id}?code=${code(id)}`, cookie);
      statuses.add(answer.status);
      for (const set of answer.headers.getSetCookie()) {
        const name = set.split('=', 1)[0] ?? '';
        if (set.includes('Max-Age=0;')) jar.delete(name);
        else jar.set(name, set.split(';', 1)[0] ?? '');
      }
      expect(jar.size).toBeLessThanOrEqual(40);
    }
    expect([...statuses]).toEqual([200]);
    const newest = orders.slice(-40);
    expect([...jar.keys()]).toEqual(newest.map(({ id }) => `__Host-lc-checkout-${id}`));
    const { id } = newest[0] as (typeof newest)[number];
    expect((await open(`${api.baseUrl}/checkout/${id}`, [...jar.values()].join('; '))).status).toBe(
      200,
    );
  });

  it('is a page also where it cannot be shown, which tries again by itself', async () => {
    const { id } = await place();
    const url = await link(id);
    const cookie = cookieIn((await open(url)).headers);
    const holder = new Client({ connectionString: api.ownerUrl });
    await holder.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE lastcall.page_sessions, lastcall.orders');
      for (const path of [`/checkout/${id}?lang=de`, `/checkout/${id}/pay?lang=de`]) {
        const answer = await fetch(`${api.baseUrl}${path}`, {
          headers: { ...SAME_ORIGIN, cookie },
          redirect: 'manual',
        });
        expect([answer.status, answer.headers.get('content-type')]).toEqual([
          503,
          'text/html; charset=utf-8',
        ]);
        expect(answer.headers.get('refresh')).toBe(`5; url=/checkout/${id}?lang=de`);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
        expect(await answer.text()).toContain('<h1>Einen Moment, bitte</h1>');
      }
    } finally {
      await holder.end();
    }
    expect((await open(`${api.baseUrl}/checkout/${id}`, cookie)).status).toBe(200);
  });

  it('is a problem where only the servers were built', async () => {
    jest.spyOn(WebAssets.prototype, 'areBuilt', 'get').mockReturnValue(false);
    const unbuilt = (): never => {
      throw new LastcallError('unavailable', 'The pages are not built here');
    };
    jest.spyOn(WebAssets.prototype, 'languages', 'get').mockImplementation(unbuilt);
    const { id } = await place();
    const answer = await api.request(`GET /checkout/${id}`, {});
    expectProblem(answer, 503, 'unavailable');
  });

  it('is good for its own order, and for what its customer may do', async () => {
    const [mine, other] = [await place(), await place()];
    const cookie = cookieIn((await open(await link(mine.id))).headers);
    const own = { headers: { cookie } };
    expect((await api.request(`GET /v1/orders/${mine.id}`, own)).status).toBe(200);
    const renamed = cookie.replace(mine.id, other.id);
    for (const headers of [{ cookie }, { cookie: renamed }]) {
      const answer = await api.request(`GET /v1/orders/${other.id}`, { headers });
      expectProblem(answer, 401, 'unauthorized');
    }
    expectProblem(await api.request('GET /v1/orders', own), 401, 'unauthorized');
    expectProblem(await api.request(`GET /v1/ops/orders/${mine.id}`, own), 401, 'unauthorized');
    expectProblem(
      await api.request(`POST /v1/orders/${mine.id}/shipment`, { headers: { cookie } }),
      ...[401, 'unauthorized' as const],
    );
  });

  it('changes nothing for another site, nor for another port of this host', async () => {
    const { id } = await place();
    const cookie = cookieIn((await open(await link(id))).headers);
    for (const foreign of [{}, SAME_SITE, { 'sec-fetch-site': 'cross-site' }]) {
      const answer = await api.request(`POST /v1/orders/${id}/cancel`, {
        headers: { cookie, ...foreign },
      });
      expectProblem(answer, 403, 'forbidden');
    }
    // A browser shows the cookie also where another site's link leads here.
    for (const foreign of [SAME_SITE, { 'sec-fetch-site': 'cross-site' }]) {
      const { status, headers } = await fetch(`${api.baseUrl}/checkout/${id}/pay`, {
        headers: { cookie, ...foreign },
        redirect: 'manual',
      });
      expect([status, headers.get('location')]).toEqual([303, `/checkout/${id}`]);
    }
    const canceled = await api.request(`POST /v1/orders/${id}/cancel`, {
      headers: { cookie, ...SAME_ORIGIN },
    });
    expect(canceled.body).toMatchObject({ status: 'closed', closeReason: 'customer_canceled' });
  });

  it('places a closed order again, once, and leads to the copy', async () => {
    const { id } = await place();
    const token = { token: ann };
    expectProblem(
      await api.request(`POST /v1/orders/${id}/again`, token),
      409,
      'order_not_repeatable',
    );
    await api.request(`POST /v1/orders/${id}/cancel`, token);
    const copies = await Promise.all(
      [1, 2].map(() => api.request<{ orderId: string }>(`POST /v1/orders/${id}/again`, token)),
    );
    const made = copies.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ body }) => body.orderId)).size).toBe(1);
    expect(made[0]?.body.orderId).not.toBe(id);
  });

  it('goes on no longer by a link that it has asked for itself', async () => {
    const { id } = await place();
    const cookie = cookieIn((await open(await link(id))).headers);
    const headers = { ...SAME_ORIGIN, cookie };
    await api.rows(
      `UPDATE page_sessions SET ends_at = now() + interval '1 hour' WHERE order_id = $1`,
      [id],
    );
    expect((await api.request(`POST /v1/orders/${id}/checkout-link`, { headers })).status).toBe(
      201,
    );
    // Within what passed between reading a clock and writing the row.
    const [ends] = await api.rows<{ n: number; longer: number }>(
      `SELECT count(*)::int AS n,
              (extract(epoch FROM max(ends_at) - min(ends_at)) > 60)::int AS longer
         FROM page_sessions WHERE order_id = $1`,
      [id],
    );
    expect(ends).toEqual({ n: 2, longer: 0 });
  });

  it('is nothing for who has no link', async () => {
    const { id } = await place();
    const { origin } = new URL(api.baseUrl);
    for (const path of [`/checkout/${id}`, `/checkout/${id}?code=x`, '/checkout/nobody']) {
      expect((await open(origin + path)).status).toBe(410);
    }
    const pay = await fetch(`${origin}/checkout/${id}/pay`, { headers: SAME_ORIGIN });
    expect(pay.status).toBe(410);
  });
});

it('lets whoever is new see an order of the sample shop close within half a minute', async () => {
  const items = [{ sku: 'TEA-SENCHA', quantity: 1 }];
  for (const [isQuick, seconds] of [
    [true, 25],
    [false, 660],
  ] as const) {
    const { status, body } = await api.request<{ url: string }>('POST /shop/orders', {
      ...{ headers: SAME_ORIGIN, body: { items, isQuick } },
    });
    expect(status).toBe(201);
    const id = new URL(body.url).pathname.split('/').at(-1);
    const [row] = await api.rows<{ n: string }>(
      `SELECT extract(epoch FROM d.due_at - o.created_at)::int AS n
         FROM orders o JOIN deadlines d ON d.subject_id = o.id WHERE o.id = $1`,
      [id],
    );
    expect(Number(row?.n)).toBe(seconds);
  }
});
