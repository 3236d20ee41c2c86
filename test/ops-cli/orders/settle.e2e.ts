import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { uuidv7 } from '../../../libs/orders/src/order/uuid';
import { lastcall, lastcallJson } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall orders settle', () => {
  let world: CliWorld;
  let id: string;
  /** Canceled by its customer, while its provider gives no answer. */
  let wished: string;

  beforeAll(async () => {
    world = await startCliWorld({ settings: { CANCEL_PAID: 'until_shipped' } });
    const wanted = { count: 2, closesInMs: -60_000, payment: 'open' } as const;
    [id, wished] = (await insertOrders(world.sql, wanted)).map((order) => order.id) as [
      string,
      string,
    ];
    await world.rows(
      `UPDATE orders SET status = 'closing', close_reason = 'payment_timeout' WHERE id = $1`,
      [id],
    );
  });
  afterAll(() => world?.close());

  const settle = (...flags: string[]) =>
    lastcall(world.config, ['orders', 'settle', id, '--reason', 'case 17', ...flags]);

  it.each([
    ['closed', ['--closed']],
    ['closed', ['--as', 'closed']],
    ['paid', ['--paid']],
    ['paid', ['--as', 'paid']],
  ])('rehearses %s by %j', async (status, flags) => {
    const { code, stdout } = await settle(...flags, '--dry-run');
    expect(code).toBe(0);
    expect(stdout).toContain(`would be ${status} (dry run`);
    const [order] = await world.rows('SELECT status FROM orders WHERE id = $1', [id]);
    expect(order).toEqual({ status: 'closing' });
  });

  it('ends what is open of a paid order, which stays that', async () => {
    const [order] = await insertOrders(world.sql, {
      count: 1,
      closesInMs: -60_000,
      payment: 'open',
    });
    const of = [order?.id];
    await world.rows(
      `UPDATE orders SET status = 'paid', paid_at = now(), close_reason = NULL WHERE id = $1`,
      of,
    );
    const end = (how: string) =>
      lastcall(world.config, [
        'orders',
        'settle',
        ...(of as string[]),
        '--reason',
        'case 17',
        '--closed',
        how,
      ]);
    expect((await end('--dry-run')).stdout).toContain(
      'would stay paid, and its open payments be ended (dry run',
    );
    expect(await end('--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('is paid') as string,
    });
    expect(await world.rows('SELECT status FROM payments WHERE order_id = $1', of)).toEqual([
      { status: 'closed' },
    ]);
    expect(await end('--yes')).toMatchObject({ code: 4 });
  });

  it.each([
    ['none', []],
    ['two that agree', ['--as', 'paid', '--paid']],
    ['two that do not', ['--closed', '--paid']],
    ['one that there is not', ['--as', 'refunded']],
    ['a payment that was not paid', ['--closed', '--payment', uuidv7()]],
    ['the same in other words', ['--as', 'closed', '--payment', uuidv7()]],
  ])('refuses %s', async (_, flags) => {
    expect(await settle(...flags, '--dry-run')).toMatchObject({ code: 2 });
  });

  it('rehearses the payment that is named, and says so where it is none of its own', async () => {
    const [payment] = await world.rows<{ id: string }>(
      'SELECT id FROM payments WHERE order_id = $1',
      [id],
    );
    const rehearse = (paymentId = '') => settle('--paid', '--payment', paymentId, '--dry-run');
    expect(await rehearse(payment?.id)).toMatchObject({ code: 0 });
    const other = uuidv7();
    const { code, stderr } = await rehearse(other);
    expect({ code, isSaid: stderr.includes(`Payment ${other} is none of the open ones`) }).toEqual({
      ...{ code: 4, isSaid: true },
    });
  });

  it('rehearses what its customer wished while it waited', async () => {
    await world.rows(
      `INSERT INTO order_events (order_id, version, type, from_status, to_status, by, actor)
       SELECT id, version + 1, 'order.closing', 'pending_payment', 'closing', 'customer', customer_id
         FROM orders WHERE id = $1`,
      [wished],
    );
    await world.rows(
      `UPDATE orders SET status = 'closing', close_reason = 'customer_canceled', version = version + 1
        WHERE id = $1`,
      [wished],
    );
    const args = ['orders', 'settle', wished, '--reason', 'case 17', '--paid'];
    const { stdout } = await lastcall(world.config, [...args, '--dry-run']);
    expect(stdout).toContain(
      `Order ${wished} would be paid, and canceled at once (customer_canceled)`,
    );
    const rehearsed = await lastcallJson(world.config, [...args, '--dry-run']);
    expect(rehearsed.result).toMatchObject({
      dryRun: true,
      order: { status: 'closing' },
      becomes: { status: 'canceled', closeReason: 'customer_canceled' },
    });
    const done = await lastcall(world.config, [...args, '--yes']);
    expect(done.stdout).toBe(`Order ${wished} is canceled\n`);
  });

  it('does what --as says', async () => {
    const { code, stdout } = await settle('--as', 'paid', '--yes');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Order ${id} is paid\n` });
  });
});
