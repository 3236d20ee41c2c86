import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { createClient, type Order, type ProblemError } from '../../libs/client/src';
import { startTestApp, type TestApp } from '../support/app';
import { TYPES_FILE, typesOf } from './types-from-openapi';

const FOLDER = join(__dirname, '../../libs/client');
const CART = { items: [{ sku: 'TEA-SENCHA', quantity: 1 }] };
const SIZE_LIMIT_BYTES = 5_000;

type Fetch = typeof globalThis.fetch;
type Sent = { path: string; headers: Record<string, string> };

describe('@lastcall/client', () => {
  let api: TestApp;
  let ann: string;
  beforeAll(async () => {
    api = await startTestApp({ settings: { CUSTOMER_EXTENSION: '1m x10' } });
    ann = await api.token({ sub: 'ann' });
  });
  afterAll(() => api?.close());

  /** A client whose requests are written down, and answered by `instead` where that has an answer. */
  const connect = (
    instead: (sent: Sent, real: () => Promise<Response>) => unknown = () => null,
  ) => {
    const sent: Sent[] = [];
    const fetch: Fetch = async (input, init) => {
      const request = {
        path: new URL(input as string).pathname,
        headers: init?.headers as Record<string, string>,
      };
      sent.push(request);
      const real = () => globalThis.fetch(input, init);
      return ((await instead(request, real)) as Response | null) ?? real();
    };
    return { sent, client: createClient({ baseUrl: `${api.baseUrl}/`, token: () => ann, fetch }) };
  };
  const forceClose = async (id: string) =>
    api.request(`POST /v1/ops/orders/${id}/force-close`, {
      token: await api.token({ sub: 'olivia', scope: 'ops' }),
      body: { reason: 'asked by phone' },
    });
  const isEvents = ({ path }: Sent) => path.endsWith('/events');

  it('has the types of the document that is served', async () => {
    const { body } = await api.request('GET /docs-json');
    expect(readFileSync(TYPES_FILE, 'utf8')).toBe(typesOf(body, 'storefront'));
  });

  it('needs nothing else, and is less than five kilobytes on the wire', async () => {
    const { dependencies } = JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8')) as {
      dependencies?: object;
    };
    expect(dependencies).toBeUndefined();
    const { outputFiles, metafile } = await build({
      entryPoints: [join(FOLDER, 'src/index.ts')],
      ...{ bundle: true, minify: true, write: false, metafile: true },
      ...{ format: 'esm', target: 'es2022', platform: 'browser' },
    });
    const inputs = Object.keys(metafile.inputs).map((file) => file.split('/').at(-2));
    expect(new Set(inputs)).toEqual(new Set(['src']));
    const [bundle] = outputFiles;
    expect(gzipSync(bundle?.contents ?? '', { level: 9 }).length).toBeLessThan(SIZE_LIMIT_BYTES);
  });

  it('places one order however often the answer is lost, and reads, lists and cancels it', async () => {
    let lost = 0;
    const { client, sent } = connect(async ({ path }, real) => {
      if (path !== '/v1/orders' || lost === 2) return null;
      lost += 1;
      await real();
      throw new TypeError('fetch failed');
    });
    const { items } = await client.products();
    expect(items.map(({ sku }) => sku)).toContain('TEA-SENCHA');
    const order = await client.placeOrder(CART);
    const keys = sent.flatMap(({ headers }) => headers['idempotency-key'] ?? []);
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
    const page = await client.orders({ limit: 5 });
    expect(page.items.map(({ id }) => id)).toEqual([order.id]);
    expect((await client.cancel(order.id)).status).toBe('closed');
    expect((await client.order(order.id)).closeReason).toBe('customer_canceled');
  });

  it('extends an order once, however often the answer is lost or put off behind it', async () => {
    const answers = [
      () => Promise.reject(new TypeError('fetch failed')),
      () => new Response('{}', { status: 503, headers: { 'retry-after': '0' } }),
    ];
    const { client, sent } = connect(async ({ path }, real) => {
      if (!path.endsWith('/extension') || answers.length === 0) return null;
      await real();
      return answers.shift()?.();
    });
    const { id, closesAt } = await client.placeOrder(CART);
    const extended = await client.extend(id, 60);
    expect(sent.filter(({ path }) => path.endsWith('/extension'))).toHaveLength(3);
    expect(Date.parse(extended.closesAt as string) - Date.parse(closesAt as string)).toBe(60_000);
    const twice = await client.extend(id, 60);
    expect(twice.version).toBe(extended.version + 1);
  });

  it('tries again when the API says later, and passes every other refusal on', async () => {
    let refusals = 0;
    const busy = () =>
      new Response(JSON.stringify({ code: 'busy', status: 503, detail: 'later' }), {
        status: 503,
        headers: { 'retry-after': '0', 'content-type': 'application/problem+json' },
      });
    const { client, sent } = connect(() => ((refusals += 1) <= 2 ? busy() : null));
    const order = await client.placeOrder({ ...CART, expectedTotal: 1_250 });
    expect([order.amount, sent.length]).toEqual([1_250, 3]);
    const wrong = await client
      .placeOrder({ ...CART, expectedTotal: 1 })
      .catch((error: ProblemError) => error);
    expect(wrong).toMatchObject({ code: 'total_changed', status: 409, problem: { total: 1_250 } });
    expect(sent).toHaveLength(4);
  });

  it('cancels again while the order is busy, and not where it may have been canceled already', async () => {
    const answers = ['busy', 'unavailable'];
    const { client, sent } = connect(async ({ path }, real) => {
      const code = path.endsWith('/cancel') ? answers.shift() : undefined;
      if (code === undefined) return null;
      // Carried out, and whoever did it does not know: no answer came to its COMMIT.
      if (code === 'unavailable') await real();
      const headers = { 'retry-after': '0' };
      return new Response(JSON.stringify({ code, status: 503, detail: code }), {
        ...{ status: 503, headers },
      });
    });
    const { id } = await client.placeOrder(CART);
    const error = await client.cancel(id).catch((refusal: ProblemError) => refusal);
    expect(error).toMatchObject({ code: 'unavailable', status: 503 });
    expect(sent.filter(({ path }) => path.endsWith('/cancel'))).toHaveLength(2);
    expect(await client.order(id)).toMatchObject({ closeReason: 'customer_canceled' });
  });

  it('gives up after some tries, and at once when it is told to wait for minutes', async () => {
    const away = connect(() => Promise.reject(new TypeError('fetch failed')));
    // Not known to be safe to send twice: one try.
    await expect(away.client.cancel('7')).rejects.toThrow('fetch failed');
    expect(away.sent).toHaveLength(1);
    const headers = { 'retry-after': '120' };
    const later = connect(() => new Response('<h1>Maintenance</h1>', { status: 503, headers }));
    const error = await later.client.products().catch((refusal: ProblemError) => refusal);
    expect(error).toMatchObject({ code: 'http_503', retryAfterMs: 120_000 });
    expect(later.sent).toHaveLength(1);
  });

  it("counts down by the server's time", async () => {
    const { client } = connect();
    const order = await client.placeOrder(CART);
    const leftMs = client.countdown(order).leftMs() as number;
    const byServer = Date.parse(order.payBy as string) - Date.parse(order.serverNow);
    expect(leftMs).toBeLessThanOrEqual(byServer);
    expect(leftMs).toBeGreaterThan(byServer - 10_000);
  });

  it('watches an order to its end by the stream, resumed after it was cut off', async () => {
    const leave = new AbortController();
    let streams = 0;
    const { client, sent } = connect(async (request, real) => {
      if (!isEvents(request) || (streams += 1) > 1) return null;
      // Open, and then broken.
      const { body } = await real();
      const reader = (body as ReadableStream<Uint8Array>).getReader();
      return new Response(
        new ReadableStream({
          pull: async (controller) => {
            controller.enqueue((await reader.read()).value);
            await reader.cancel();
            controller.error(new TypeError('network error'));
          },
        }),
      );
    });
    const placed = await client.placeOrder(CART);
    const seen: Order['status'][] = [];
    for await (const order of client.watch(placed, { signal: leave.signal })) {
      seen.push(order.status);
      if (seen.length === 1) void forceClose(placed.id);
    }
    expect(seen).toEqual(['pending_payment', 'closed']);
    const asked = sent.filter(isEvents);
    expect(asked[0]?.headers).toMatchObject({ 'last-event-id': '1', accept: 'text/event-stream' });
    expect(leave.signal.aborted).toBe(false);
  });

  it('looks again and again where no stream is to be had, and ends when it is told to', async () => {
    const { client, sent } = connect((request) =>
      isEvents(request) ? new Response('no streams here', { status: 502 }) : null,
    );
    const placed = await client.placeOrder(CART);
    const seen: Order['status'][] = [];
    for await (const order of client.watch(placed.id)) {
      seen.push(order.status);
      if (seen.length === 1) await forceClose(placed.id);
    }
    expect(seen).toEqual(['pending_payment', 'closed']);
    expect(sent.filter(isEvents).length).toBeGreaterThan(0);
    const leave = new AbortController();
    const other = await client.placeOrder(CART);
    for await (const order of client.watch(other, { signal: leave.signal })) {
      expect(order.id).toBe(other.id);
      leave.abort();
    }
  });

  it('does not go on watching what it may not see', async () => {
    const { client } = connect();
    const other = client.watch('0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e');
    await expect(other.next()).rejects.toMatchObject({ code: 'order_not_found' });
  });
});
