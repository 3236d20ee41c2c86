import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { insertOrders, insertProduct } from '../support/insert-orders';
import { lastcall } from '../support/lastcall';
import { ownFolder } from '../support/own-folder';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const WHY = ['--reason', 'case 17'];
const folder = ownFolder();

describe('a command whose COMMIT is carried out, and its answer lost', () => {
  let world: CliWorld;
  let proxy: TcpProxy;
  beforeAll(async () => {
    world = await startCliWorld({ settings: { WEBHOOKS_ALLOW_PRIVATE: 'on' } });
    proxy = await startTcpProxy(world.config.DATABASE_URL);
  });
  afterAll(async () => {
    await proxy?.close();
    await world?.close();
  });

  const run = (...args: string[]) =>
    lastcall({ ...world.config, DATABASE_URL: proxy.url }, [...args, ...WHY]);
  /** What is said of it, and the key that it made up. */
  const lost = async (after: RegExp, ...args: string[]) => {
    proxy.loseCommit(after);
    const { code, stderr } = await run(...args);
    expect([code, stderr]).toEqual([
      6,
      expect.stringContaining('whether it was done is not known'),
    ]);
    expect(stderr).not.toContain('start Postgres');
    const key = /--idempotency-key (\S+)/.exec(stderr)?.[1] ?? '';
    return { next: stderr.split('Next:')[1] ?? '', key };
  };
  /** 5.00 EUR, as its provider's notice does. */
  const pay = async (orderId = ''): Promise<void> => {
    await world.rows(
      `WITH paid AS (
         UPDATE payments SET status = 'succeeded', captured_amount = amount, captured_currency = currency,
                paid_at = now(), recorded_at = now() WHERE order_id = $1 RETURNING *)
       INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
       SELECT order_id, id, 'captured', provider_payment_id, amount, currency, 'webhook' FROM paid`,
      [orderId],
    );
  };
  const count = async (from: string): Promise<unknown> =>
    (await world.rows<{ n: number }>(`SELECT count(*)::int AS n FROM ${from}`))[0]?.n;

  it('extends an order once, by the key that it has told', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    const args = ['orders', 'extend', order?.id ?? '', '--by', '15m'];
    const { next, key } = await lost(/INSERT INTO order_events/, ...args);
    expect(next).toContain('lastcall orders show');
    const again = await run(...args, '--idempotency-key', key);
    expect(again.stdout).toContain('this key has extended it before');
    expect(await count(`order_events WHERE type = 'order.extended'`)).toBe(1);
  });

  it('refunds once, by the key that it has told', async () => {
    const options = { count: 1, closesInMs: 600_000, payment: 'open' } as const;
    const [order] = await insertOrders(world.sql, options);
    await pay(order?.id);
    const args = ['refunds', 'create', order?.id ?? '', '--amount', '100', '--yes'];
    const { next, key } = await lost(/INSERT INTO refund_keys/, ...args);
    expect(next).toContain('lastcall orders show');
    expect(await run(...args, '--idempotency-key', key)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('was requested before') as string,
    });
    expect(await count('refunds')).toBe(1);
  });

  it('has pieces come in, and says what to look at', async () => {
    await insertProduct(world.sql, 'COFFEE', 10);
    const args = ['products', 'stock', 'COFFEE', '--delta', '50'];
    expect((await lost(/INSERT INTO product_changes/, ...args)).next).toContain('products list');
    expect(await count(`products WHERE sku = 'COFFEE' AND available = 60`)).toBe(1);
  });

  it('is interrupted while products come in, and does not say that nothing was changed', async () => {
    const file = join(folder, 'products.csv');
    writeFileSync(file, 'sku,name,unitPrice,currency\nPOT,Pot,900,EUR\n');
    let stops = (): void => undefined;
    const stopping = new Promise<void>((done) => (stops = done));
    const committing = new Promise<void>((done) =>
      proxy.loseCommit(/INSERT INTO product_changes/, () => {
        done();
        return stopping;
      }),
    );
    const { code, stderr } = await lastcall(
      { ...world.config, DATABASE_URL: proxy.url },
      ['products', 'import', file, '--yes', ...WHY],
      {
        interrupt: { when: committing, signal: 'SIGINT' },
        onStderr: (said) => said.includes('Stopping') && stops(),
      },
    );
    expect([code, stderr]).toEqual([
      6,
      expect.stringContaining('whether it was done is not known'),
    ]);
    expect(stderr).not.toContain('nothing was changed');
    expect(await count(`products WHERE sku = 'POT'`)).toBe(1);
  });

  it('makes an endpoint and rotates its secret, and says what to look at', async () => {
    const made = await lost(
      /webhook_endpoint\.create/,
      'webhook-endpoints',
      'add',
      'http://a.test/',
    );
    expect(made.next).toMatch(/webhook-endpoints list.*rotate/);
    const [{ id } = { id: '' }] = await world.rows<{ id: string }>(
      'SELECT id FROM webhook_endpoints',
    );
    const rotated = await lost(/webhook_endpoint\.rotate/, 'webhook-endpoints', 'rotate', id);
    expect(rotated.next).toContain('previousSecretUntil');
  });
});
