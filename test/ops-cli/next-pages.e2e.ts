import type { Page } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { holdMoney } from '../support/hold-money';
import { insertOrders, insertProduct } from '../support/insert-orders';
import { lastcallJson } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const ENDPOINT = '00000000-0000-7000-8000-00000000000e';

describe('a list that is longer than a page', () => {
  let world: CliWorld;

  beforeAll(async () => {
    world = await startCliWorld();
    await world.rows('DELETE FROM products');
    await insertProduct(world.sql, 'CUP');
    const options = { count: 2, closesInMs: 600_000, payment: 'failed' } as const;
    for (const { paymentId } of await insertOrders(world.sql, options)) {
      await world.rows(
        `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, attempt)
         VALUES (gen_random_uuid(), $1, 'late_payment', 500, 'EUR', 'failed', 3)`,
        [paymentId],
      );
      await holdMoney(world.sql, paymentId, 499, 'amount_mismatch');
      await world.rows(
        `INSERT INTO webhook_events (id, provider, event_id, notice, status)
         VALUES (gen_random_uuid(), 'sandbox', gen_random_uuid()::text, '{"type": "payment.succeeded"}', 'held')`,
      );
    }
    await world.rows(
      `WITH endpoint AS (
         INSERT INTO webhook_endpoints (id, url, events, secret, from_tx)
         VALUES ($1, 'https://shop.invalid/', '{*}', 'whsec_x', '0') RETURNING id)
       INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until, status, settled_at)
       SELECT id, gen_random_uuid(), 1, 'order.paid', now(), 'dead', now() FROM endpoint, generate_series(1, 2)`,
      [ENDPOINT],
    );
  });
  afterAll(() => world?.close());

  it.each([
    ['orders list'],
    ['refunds list'],
    ['payments list'],
    ['webhooks list'],
    ['products list'],
    [`webhook-endpoints deliveries ${ENDPOINT}`],
  ])('goes on behind the page before: %s', async (command) => {
    type Listed = Page<{ id?: string; sku?: string }>;
    const page = async (...more: string[]) => {
      const args = [...command.split(' '), '--limit', '1', ...more];
      const { result } = await lastcallJson<Listed>(world.config, args);
      return { ids: result.items.map(({ id, sku }) => id ?? sku), next: result.nextCursor };
    };
    const first = await page();
    const second = await page('--cursor', first.next ?? '');
    expect(new Set([...first.ids, ...second.ids]).size).toBe(2);
    expect(second.next).toBeNull();
  });
});
