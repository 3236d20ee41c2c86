import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { lastcall } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall orders settle', () => {
  let world: CliWorld;
  let id: string;

  beforeAll(async () => {
    world = await startCliWorld();
    const wanted = { count: 1, closesInMs: -60_000, payment: 'open' } as const;
    const [order] = await insertOrders(world.sql, wanted);
    id = order?.id as string;
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

  it.each([
    ['none', []],
    ['two that agree', ['--as', 'paid', '--paid']],
    ['two that do not', ['--closed', '--paid']],
    ['one that there is not', ['--as', 'refunded']],
  ])('refuses %s', async (_, flags) => {
    expect(await settle(...flags, '--dry-run')).toMatchObject({ code: 2 });
  });

  it('does what --as says', async () => {
    const { code, stdout } = await settle('--as', 'paid', '--yes');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Order ${id} is paid\n` });
  });
});
