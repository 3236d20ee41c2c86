import type { CustomerExport, ErasedCustomer } from '@app/orders';
import { ADVISORY_LOCKS } from '../../../libs/orders/src/order/advisory-locks';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { beginHeldOpen } from '../../support/held-open';
import { insertOrders } from '../../support/insert-orders';
import { lastcall, lastcallJson, operatorNamed } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall customers', () => {
  let world: CliWorld;
  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  const erase = (...more: string[]) =>
    lastcall(world.config, ['customers', 'erase', 'zoe', '--reason', 'request 17', ...more]);
  const names = async () =>
    (await world.sql.rows<{ n: string }>('SELECT DISTINCT customer_id AS n FROM orders')).map(
      ({ n }) => n,
    );

  it('tells a customer what is kept, and forgets them when their orders are over', async () => {
    await insertOrders(world.sql, { count: 2, closesInMs: -1_000, customerId: 'zoe' });
    const open = await erase('--yes');
    expect(open.code).toBe(4);
    expect(open.stderr).toMatch(/are not over/);
    await lastcall(world.config, ['sweep', 'run']);

    const told = await lastcallJson<CustomerExport>(world.config, ['customers', 'export', 'zoe']);
    expect(told.result.orders.map(({ history }) => history.map(({ to }) => to))).toEqual([
      ['pending_payment', 'closed'],
      ['pending_payment', 'closed'],
    ]);
    expect(told.result.nameInLogs).toMatch(/^sub_\w{16}$/);

    expect((await erase('--dry-run')).stdout).toMatch(/2 orders and 2 events would be erased/);
    expect(await erase()).toMatchObject({ code: 8, stderr: expect.stringContaining('--yes') });
    const relaying = await beginHeldOpen(world.dataSource);
    await relaying.query(`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.relay})`);
    const busy = await erase('--yes');
    expect(busy.code).toBe(4);
    expect(busy.stderr).toMatch(
      /Others are changing the same things[^]+run the same command again/,
    );
    await relaying.rollbackTransaction();
    await relaying.release();
    expect(await names()).toEqual(['zoe']);
    const more = ['--yes', '--actor', 'eve', '--json'];
    const { code, stdout } = await erase(...more);
    expect(code).toBe(0);
    const { pseudonym } = JSON.parse(stdout) as ErasedCustomer;
    expect(await names()).toEqual([pseudonym]);
    expect(await world.sql.rows('SELECT actor, action, reason FROM operator_actions')).toEqual([
      { actor: operatorNamed('eve'), action: 'customer.erase', reason: 'request 17' },
    ]);
    const gone = await lastcall(world.config, ['customers', 'export', 'zoe']);
    expect(gone.code).toBe(3);
    expect(gone.stderr).toContain('There is no order of this customer');
  });
});
