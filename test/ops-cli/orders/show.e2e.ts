import type { OrderDetailsView } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import {
  expectConventions,
  inFourWays,
  lastcall,
  lastcallJson,
  plain,
} from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall orders show', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  it('tells why an order was closed, by whom and how late', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: -90_000 });
    const id = order?.id as string;
    await lastcall(world.config, ['sweep', 'run']);
    const ways = await inFourWays(world.config, ['orders', 'show', id]);
    expectConventions(ways, 0);
    for (const stdout of [ways.tty, ways.pipe, ways.noColor].map(plain)) {
      expect(stdout).toMatch(/closed late by\s+\d+ min/);
      expect(stdout).toMatch(/order\.closed\s+sweep\s+payment_timeout/);
    }
    // Instants are for people on a terminal, and for programs elsewhere.
    expect(plain(ways.tty)).toMatch(/closed at|closes at\s+\S+Z \(.+ ago\)/);
    expect(ways.pipe.stdout).not.toContain(' ago)');
    const { order: shown, history, lagMs } = JSON.parse(ways.json.stdout) as OrderDetailsView;
    const [row] = await world.sql.rows<{ status: string; lag: string }>(
      `SELECT status, extract(epoch FROM closed_at - closes_at) * 1000 AS lag FROM orders WHERE id = $1`,
      [id],
    );
    expect(shown.status).toBe(row?.status);
    expect(lagMs).toBe(Number(row?.lag));
    expect(history.map(({ to, by }) => [to, by])).toEqual([
      ['pending_payment', 'customer'],
      ['closed', 'sweep'],
    ]);
  });

  it('changes nothing, not even an overdue order, and shows its deadline and alarm', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: -5_000 });
    const id = order?.id as string;
    const { result } = await lastcallJson<OrderDetailsView>(world.config, ['orders', 'show', id]);
    expect(result.order.status).toBe('pending_payment');
    expect(result.deadlines).toMatchObject([{ kind: 'payment', alarm: 'none' }]);
    expect(await world.sql.rows('SELECT status FROM orders WHERE id = $1', [id])).toEqual([
      { status: 'pending_payment' },
    ]);
  });

  it('says beside a payment why its provider gave no answer', async () => {
    const options = { count: 1, closesInMs: -5_000, payment: 'open' } as const;
    const [order] = await insertOrders(world.sql, options);
    const id = order?.id as string;
    await world.sql.rows(`UPDATE payments SET error = 'status 401' WHERE order_id = $1`, [id]);
    const { stdout } = await lastcall(world.config, ['orders', 'show', id]);
    expect(stdout).toMatch(/^ID +STATUS .* ERROR\n.*\bopen\b.* status 401$/m);
  });

  it('begins at once: it loads neither Nest nor what only workers need', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    const env = { NODE_OPTIONS: `-r ${require.resolve('../../support/list-packages.cjs')}` };
    const args = ['orders', 'show', order?.id as string];
    const { code, stderr } = await lastcall(world.config, args, { alone: true, env });
    expect(code).toBe(0);
    const loaded = /^loaded: (.*)$/m.exec(stderr)?.[1]?.split(' ');
    expect(loaded).toEqual(expect.arrayContaining(['@oclif/core', 'pg']));
    expect(loaded?.filter((name) => /^@nestjs|^rxjs$|^stripe$|^redlock$/.test(name))).toEqual([]);
  });

  it('merges payments, webhooks and refunds into one timeline', async () => {
    const options = { count: 1, closesInMs: 600_000, payment: 'open' } as const;
    const [order] = await insertOrders(world.sql, options);
    const [id, paymentId] = [order?.id as string, order?.paymentId as string];
    await world.sql.rows(
      `INSERT INTO webhook_events (id, provider, event_id, notice, status, result, processed_at)
       VALUES (gen_random_uuid(), 'sandbox', $1, $2, 'processed', 'paid', now())`,
      [paymentId, JSON.stringify({ type: 'payment.succeeded', paymentId })],
    );
    const { stdout } = await lastcall(world.config, ['orders', 'show', id]);
    const timeline = /^Timeline\n([^]*?)\n\n/m.exec(stdout)?.[1] ?? '';
    const lines = timeline.split('\n').map((line) => line.trim().split(/\s{2,}/));
    expect(lines.map(([, what]) => what)).toEqual(
      expect.arrayContaining(['order.placed', 'webhook.payment.succeeded', 'deadline.payment']),
    );
    const instants = lines.slice(1).map(([at]) => at);
    expect(instants).toEqual([...instants].sort());
  });

  it('extends the time to pay of an unpaid order, with a reason', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    const id = order?.id as string;
    const extend = (...flags: string[]) =>
      lastcallJson<{ order: OrderDetailsView['order']; replayed: boolean }>(world.config, [
        ...['orders', 'extend', id, '--reason', 'bank was down', '--actor', 'eve'],
        ...flags,
      ]);
    const { code, result } = await extend('--by', '15m');
    expect(code).toBe(0);
    const byMs = Date.parse(result.order.closesAt as string) - (order?.closesAt.getTime() ?? 0);
    expect(byMs).toBe(900_000);
    const sql = `SELECT type, reason FROM order_events WHERE order_id = $1 AND by = 'operator'`;
    expect(await world.sql.rows(sql, [id])).toEqual([
      { type: 'order.extended', reason: 'bank was down' },
    ]);
    const once = ['--by', '5m', '--idempotency-key', 'case-17'];
    const [first, again] = [await extend(...once), await extend(...once)];
    expect([first.result.replayed, again.result.replayed]).toEqual([false, true]);
    expect(again.result.order.closesAt).toBe(first.result.order.closesAt);
    expect((await extend('--by', 'soon')).code).toBe(2);
    expect((await extend('--by', '5m', '--idempotency-key', 'case 17')).code).toBe(2);
    await world.sql.rows(`UPDATE orders SET status = 'paid', paid_at = now() WHERE id = $1`, [id]);
    expect((await extend('--by', '15m')).code).toBe(4);
  });

  it('says so when there is no such order', async () => {
    const unknown = '00000000-0000-7000-8000-000000000000';
    const { code, stderr } = await lastcall(world.config, ['orders', 'show', unknown]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/Error: There is no such order\nNext: {2}lastcall orders list/);
    const json = await lastcallJson(world.config, ['orders', 'show', unknown]);
    expect(json).toMatchObject({
      code: 3,
      result: { error: { code: 'order_not_found', exitCode: 3 } },
    });
  });
});
