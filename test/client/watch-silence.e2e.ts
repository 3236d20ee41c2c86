import { createClient, type Order } from '../../libs/client/src';
import { startTestApp, type TestApp } from '../support/app';
import { SilentServer } from '../support/silent-server';

const CART = { items: [{ sku: 'TEA-SENCHA', quantity: 1 }] };
/** How long one look at an order may take. */
const LOOK_LIMIT_MS = 10_000;

describe('watching over a connection that is dead', () => {
  let api: TestApp;
  let ann: string;
  let silent: SilentServer;
  beforeAll(async () => {
    api = await startTestApp();
    ann = await api.token({ sub: 'ann' });
    silent = await SilentServer.start();
  });
  afterAll(async () => {
    silent?.close();
    await api?.close();
  });
  afterEach(() => {
    jest.restoreAllMocks();
    Reflect.deleteProperty(globalThis, 'document');
  });

  /** A client that gets no streams, and no answer to its look number `silentLook`. */
  const connect = (silentLook: number) => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    let endTime: unknown;
    let looks = 0;
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const path = new URL(input as string).pathname;
      if (path.endsWith('/events')) return new Response('no streams here', { status: 502 });
      const isLook = path.startsWith('/v1/orders/') && init?.method === 'GET';
      if (!isLook || (looks += 1) !== silentLook) return globalThis.fetch(input, init);
      endTime = timers.mock.calls.findLast(([, ms]) => ms === LOOK_LIMIT_MS)?.[0];
      return globalThis.fetch(silent.url, init);
    };
    const client = createClient({ baseUrl: api.baseUrl, token: () => ann, fetch });
    return { client, looks: () => looks, passTime: () => (endTime as () => void)() };
  };
  const statusesOf = async (orders: AsyncIterable<Order>): Promise<Order['status'][]> => {
    const seen: Order['status'][] = [];
    for await (const { status } of orders) seen.push(status);
    return seen;
  };
  const forceClose = async (id: string) =>
    api.request(`POST /v1/ops/orders/${id}/force-close`, {
      token: await api.token({ sub: 'olivia', scope: 'ops' }),
      body: { reason: 'asked by phone' },
    });

  it.each([1, 2])('asks anew where the answer to look %d does not come in time', async (look) => {
    const { client, looks, passTime } = connect(look);
    const { id } = await client.placeOrder(CART);
    const asked = silent.asked();
    const watching = statusesOf(client.watch(id));
    await asked;
    await forceClose(id);
    passTime();
    expect((await watching).at(-1)).toBe('closed');
    expect(looks()).toBe(look + 1);
  });

  it('looks at once when the page is shown again', async () => {
    const document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
    Object.assign(globalThis, { document });
    const { client, looks } = connect(2);
    const placed = await client.placeOrder(CART);
    const asked = silent.asked();
    const watching = statusesOf(client.watch(placed.id));
    await asked;
    await forceClose(placed.id);
    document.dispatchEvent(new Event('visibilitychange'));
    expect(await watching).toEqual(['pending_payment', 'closed']);
    expect(looks()).toBe(3);
  });

  it('leaves when it is told to, also in the midst of a look', async () => {
    const { client } = connect(1);
    const { id } = await client.placeOrder(CART);
    const leave = new AbortController();
    const asked = silent.asked();
    const first = client.watch(id, { signal: leave.signal }).next();
    await asked;
    leave.abort();
    await expect(first).rejects.toMatchObject({ name: 'AbortError' });
  });
});
