import type { OrderView } from '@app/orders';
import { startTestApp, type TestApp } from '../support/app';
import { expectProblem } from '../support/problem';
import { until } from '../support/until';

interface Streamed {
  id: string;
  event: string;
  data: Record<string, unknown>;
}

interface StreamToken {
  token: string;
  expiresAt: string;
}

/** Reads a stream of events; `next` answers undefined when the server has ended it. */
/** Without a token as EventSource does, which sends no header of ours. */
async function follow(api: TestApp, path: string, token?: string, lastEventId?: string) {
  const leave = new AbortController();
  const response = await fetch(api.baseUrl + path, {
    signal: leave.signal,
    headers: {
      origin: SHOP,
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(lastEventId ? { 'last-event-id': lastEventId } : {}),
    },
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  const next = async (): Promise<Streamed | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const lines = text.slice(0, end).split('\n');
        text = text.slice(end + 2);
        const field = (name: string) =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
        const data = field('data');
        if (data === undefined) continue;
        return {
          id: field('id') as string,
          event: field('event') as string,
          data: JSON.parse(data) as Record<string, unknown>,
        };
      }
      const { done, value } = await reader.read();
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  };
  return { response, next, leave: () => leave.abort() };
}

const SHOP = 'https://shop.example';
const TOKEN_S = 600;
/** The timers that wait for the end of such a token, which has been good for a while. */
const LONGEST_MS = TOKEN_S * 1_000;
const SHORTEST_MS = LONGEST_MS / 2;

/** Holds the timer of the stream that is opened next, for `end` to let its token's time be over. */
function holdTokensEnd(): { end(): void } {
  const held: (() => void)[] = [];
  const set = globalThis.setTimeout;
  jest.spyOn(globalThis, 'setTimeout').mockImplementation((fire: () => void, ms?: number) => {
    if (ms !== undefined && ms > SHORTEST_MS && ms <= LONGEST_MS) held.push(fire);
    return set(fire, ms);
  });
  return {
    end: () => {
      expect(held).toHaveLength(1);
      const endedMs = Date.now() + LONGEST_MS;
      jest.spyOn(Date, 'now').mockReturnValue(endedMs);
      held[0]?.();
    },
  };
}

describe("the stream of an order's events", () => {
  let api: TestApp;
  let ann: string;
  let keys = 0;
  const place = async (token = ann): Promise<OrderView> => {
    const answer = await api.request<OrderView>('POST /v1/orders', {
      token,
      headers: { 'idempotency-key': `key-${(keys += 1)}` },
      body: { items: [{ sku: 'TEA-SENCHA', quantity: 1 }] },
    });
    return answer.body;
  };

  beforeAll(async () => {
    api = await startTestApp({ settings: { ROLES: 'api', CORS_ORIGINS: SHOP } });
    ann = await api.token({ sub: 'ann' });
  });
  afterAll(() => api?.close());
  afterEach(() => jest.restoreAllMocks());

  it('tells what has happened and what happens, and goes on where it was left', async () => {
    const { id } = await place();
    const stream = await follow(api, `/v1/orders/${id}/events`, ann);
    expect(stream.response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const placed = await stream.next();
    expect(placed?.data).toMatchObject({ orderId: id, from: null, to: 'pending_payment' });
    const ops = await api.token({ sub: 'olivia', scope: 'ops' });
    await api.request(`POST /v1/ops/orders/${id}/force-close`, {
      token: ops,
      body: { reason: 'asked by phone' },
    });
    const closed = await stream.next();
    expect(closed?.data).toMatchObject({
      id: closed?.id,
      type: closed?.event,
      from: 'pending_payment',
      to: 'closed',
      by: 'operator',
      version: 2,
      reason: 'operator_decided',
    });
    expect([placed?.id, closed?.id]).toEqual(['1', '2']);
    expect(JSON.stringify(closed)).not.toMatch(/olivia|asked by phone/);
    // Nothing follows a final status: the stream ends by itself, and whoever has seen all is told so.
    expect(await stream.next()).toBeUndefined();
    const resumed = await follow(api, `/v1/orders/${id}/events`, ann, placed?.id);
    expect((await resumed.next())?.id).toBe(closed?.id);
    expect(await resumed.next()).toBeUndefined();
    const over = await api.request(`GET /v1/orders/${id}/events`, {
      token: ann,
      headers: { 'last-event-id': '2' },
    });
    expect([over.status, over.body]).toEqual([204, '']);
  });

  // Of another order, or as the operators' list of events has it.
  it.each(['3', '12', '917203'])(
    'begins anew after %s, which is none of its ids',
    async (foreign) => {
      const { id } = await place();
      const path = `/v1/orders/${id}/events`;
      const open = await follow(api, path, ann, foreign);
      expect([open.response.status, (await open.next())?.id]).toEqual([200, '1']);
      await api.request(`POST /v1/orders/${id}/cancel`, { token: ann });
      expect((await open.next())?.id).toBe('2');
      expect(await open.next()).toBeUndefined();
      const over = await follow(api, path, ann, foreign);
      expect(over.response.status).toBe(200);
      expect([(await over.next())?.id, (await over.next())?.id]).toEqual(['1', '2']);
      expect(await over.next()).toBeUndefined();
    },
  );

  it('is like whatever else a customer reads: nothing in it is by an operator', async () => {
    const { id } = await place();
    const written = { reason: 'looks like a fraud, case 17' };
    const ops = await api.token({ sub: 'olivia', scope: 'ops' });
    await api.request(`POST /v1/ops/orders/${id}/force-close`, { token: ops, body: written });
    const { paths } = (await api.request<{ paths: Record<string, object> }>('GET /docs-json')).body;
    const looked: string[] = [];
    const look = async (path: string, headers: Record<string, string>): Promise<void> => {
      const answer = await fetch(api.baseUrl + path, { headers });
      const text = await answer.text();
      expect(text).not.toMatch(/olivia|fraud|case 17/);
      if (answer.ok && text.includes(id)) looked.push(path.replace(id, '{id}'));
    };
    for (const [path, methods] of Object.entries(paths)) {
      if (!('get' in methods)) continue;
      await look(path.replace('{id}', id), { authorization: `Bearer ${ann}` });
    }
    const link = await api.request<{ url: string }>(`POST /v1/orders/${id}/checkout-link`, {
      token: ann,
    });
    const { pathname, search } = new URL(link.body.url);
    await look(pathname + search, { accept: 'text/html' });
    // These did show the order; what is an operator's own was refused.
    expect(looked).toEqual(expect.arrayContaining(['/v1/orders', '/v1/orders/{id}']));
    expect(looked).toContain('/v1/orders/{id}/events');
  });

  const streamToken = async (id: string, token = ann) =>
    (await api.request<StreamToken>(`POST /v1/orders/${id}/stream-token`, { token })).body;

  it('opens by a token in its address, for this order and for minutes only', async () => {
    const { id } = await place();
    const { token, expiresAt } = await streamToken(id);
    expect(token).not.toContain('ann');
    const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(14);
    expect(minutes).toBeLessThanOrEqual(15);
    const stream = await follow(api, `/v1/orders/${id}/events?token=${token}`);
    expect(stream.response.headers.get('access-control-allow-origin')).toBe(SHOP);
    expect((await stream.next())?.data).toMatchObject({ orderId: id, version: 1 });
    stream.leave();
    const other = (await place()).id;
    const forged = `${(Date.now() + 1e9).toString(36)}.${token.split('.')[1]}`;
    for (const [order, given] of [
      [other, token],
      [id, forged],
      [id, `${token}x`],
      [id, 'x'],
      [id, `${token}&token=${token}`],
      ['7', token],
    ]) {
      const answer = await api.request(`GET /v1/orders/${order}/events?token=${given}`);
      expectProblem(answer, 401, 'unauthorized');
      expect(answer.headers.get('www-authenticate')).toContain('invalid_token');
    }
    for (const path of [`/v1/orders/${id}`, '/v1/orders'] as const) {
      expectProblem(await api.request(`GET ${path}?token=${token}`), 401, 'unauthorized');
    }
  });

  it('gives nobody a token for the order of another, and none that outlives its own', async () => {
    const { id } = await place();
    const bob = await api.token({ sub: 'bob' });
    const refused = await api.request(`POST /v1/orders/${id}/stream-token`, { token: bob });
    expectProblem(refused, 404, 'order_not_found');
    const { token, expiresAt } = await streamToken(
      id,
      await api.token({ sub: 'ann', expiresIn: TOKEN_S }),
    );
    expect(Date.parse(expiresAt)).toBeLessThanOrEqual(Date.now() + LONGEST_MS);
    const time = holdTokensEnd();
    const stream = await follow(api, `/v1/orders/${id}/events?token=${token}`);
    expect(await stream.next()).toBeDefined();
    time.end();
    expect(await stream.next()).toBeUndefined();
    const again = await api.request(`GET /v1/orders/${id}/events?token=${token}`);
    expectProblem(again, 401, 'unauthorized');
  });

  it("is not opened for somebody else's order", async () => {
    const { id } = await place();
    const bob = await api.token({ sub: 'bob' });
    const answer = await api.request(`GET /v1/orders/${id}/events`, { token: bob });
    expectProblem(answer, 404, 'order_not_found');
  });

  it('is not left open for whoever asks for its head only', async () => {
    const hal = await api.token({ sub: 'hal' });
    const { id } = await place(hal);
    // One customer may have ten open.
    for (let n = 0; n < 11; n++) {
      const { headers } = await fetch(`${api.baseUrl}/v1/orders/${id}/events`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${hal}` },
      });
      expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
    }
    const stream = await follow(api, `/v1/orders/${id}/events`, hal);
    expect(await stream.next()).toBeDefined();
    stream.leave();
  });

  it('ends when the token does', async () => {
    const { id } = await place();
    const short = await api.token({ sub: 'ann', expiresIn: TOKEN_S });
    const time = holdTokensEnd();
    const stream = await follow(api, `/v1/orders/${id}/events`, short);
    expect(await stream.next()).toBeDefined();
    time.end();
    expect(await stream.next()).toBeUndefined();
  });

  it('has room for ten streams a customer, and again when one of them leaves', async () => {
    const { id } = await place();
    const eve = await api.token({ sub: 'ann', expiresIn: 600 });
    const open = () => follow(api, `/v1/orders/${id}/events`, eve);
    const streams = [];
    for (let i = 0; i < 10; i++) streams.push(await open());
    for (const stream of streams) expect(await stream.next()).toBeDefined();
    const eleventh = await api.request(`GET /v1/orders/${id}/events`, { token: eve });
    expectProblem(eleventh, 429, 'rate_limited');
    for (const { leave } of streams) leave();
    await until('there is room again', async () => {
      const stream = await open();
      stream.leave();
      return stream.response.status === 200;
    });
  });

  it('ends when the process drains', async () => {
    const other = await startTestApp({ beside: api, settings: { ROLES: 'api' } });
    const { id } = await place();
    const stream = await follow(other, `/v1/orders/${id}/events`, ann);
    expect(await stream.next()).toBeDefined();
    const closing = other.close();
    expect(await stream.next()).toBeUndefined();
    await closing;
  });
});
