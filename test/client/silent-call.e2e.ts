import { type ClientOptions, createClient } from '../../libs/client/src';
import { startTestApp, type TestApp } from '../support/app';
import { SilentServer } from '../support/silent-server';

const CART = { items: [{ sku: 'TEA-SENCHA', quantity: 1 }] };
/** Of one call: more than an answer takes on a busy machine, and no other timer of this process. */
const LIMIT_MS = 59_000;

describe('a call over a connection that is dead', () => {
  let api: TestApp;
  let ann: string;
  let silent: SilentServer;
  beforeAll(async () => {
    api = await startTestApp({ settings: { CUSTOMER_EXTENSION: '1m x10' } });
    ann = await api.token({ sub: 'ann' });
    silent = await SilentServer.start();
  });
  afterAll(async () => {
    silent?.close();
    await api?.close();
  });
  afterEach(() => jest.restoreAllMocks());

  /** A client whose first request for such a path is never answered, and is over at once; `keys` of all of them. */
  const connect = (silentPath: RegExp, options: Partial<ClientOptions> = { limitMs: LIMIT_MS }) => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const keys: (string | undefined)[] = [];
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const isMeant = silentPath.test(new URL(input as string).pathname);
      if (!isMeant) return globalThis.fetch(input, init);
      const { 'idempotency-key': key } = init?.headers as Record<string, string | undefined>;
      if (keys.push(key) > 1) return globalThis.fetch(input, init);
      const passTime = timers.mock.calls.findLast(([, ms]) => ms === LIMIT_MS)?.[0] as () => void;
      void silent.asked().then(passTime);
      return globalThis.fetch(silent.url, init);
    };
    return {
      client: createClient({ baseUrl: api.baseUrl, token: () => ann, fetch, ...options }),
      keys,
    };
  };

  it('is made anew where it only reads', async () => {
    const { client, keys } = connect(/^\/v1\/orders\/[^/]+$/);
    const { id } = await client.placeOrder(CART);
    expect(await client.order(id)).toMatchObject({ id, status: 'pending_payment' });
    expect(keys).toHaveLength(2);
  });

  it('is made anew by the same key, and done once', async () => {
    const { client, keys } = connect(/\/extension$/);
    const placed = await client.placeOrder(CART);
    const extended = await client.extend(placed.id, 60);
    expect(Date.parse(extended.payBy ?? '') - Date.parse(placed.payBy ?? '')).toBe(60_000);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  it('ends also where nobody gets a token for it', async () => {
    const token = () => new Promise<string>(() => undefined);
    const { client } = connect(/nothing/, { limitMs: 50, token });
    const cancel = client.cancel('00000000-0000-4000-8000-000000000000');
    await expect(cancel).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('fails where it might be done twice', async () => {
    const { client, keys } = connect(/\/cancel$/);
    const { id } = await client.placeOrder(CART);
    await expect(client.cancel(id)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(keys).toHaveLength(1);
    expect((await client.cancel(id)).status).toBe('closed');
  });

  it('is waited for a quarter of a minute where nothing else is said', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const { client } = connect(/\/cancel$/, {});
    const { id } = await client.placeOrder(CART);
    const asked = silent.asked();
    const cancel = client.cancel(id);
    await asked;
    const passTime = timers.mock.calls.findLast(([, ms]) => ms === 15_000)?.[0] as () => void;
    passTime();
    await expect(cancel).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('is waited for as long as it takes where that is asked for', async () => {
    const { client } = connect(/nothing/, { limitMs: Infinity });
    expect((await client.placeOrder(CART)).status).toBe('pending_payment');
  });
});
