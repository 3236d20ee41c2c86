import type { OrderView } from '@app/orders';
import { startCliWorld } from '../support/cli-world';
import { insertOrders } from '../support/insert-orders';
import { lastcall } from '../support/lastcall';

/** Far more than a pipe holds (64 KiB). */
const ORDERS = 1_000;
/** Longer than a command waits for anything else before it ends. */
const TAKES_ITS_TIME = '| (sleep 11; cat)';

it('lastcall says all of it to a reader who takes his time', async () => {
  const world = await startCliWorld();
  try {
    await insertOrders(world.sql, { count: ORDERS, closesInMs: 600_000 });
    const args = ['orders', 'list', '--limit', String(ORDERS), '--json'];
    const { code, stdout, stderr } = await lastcall(world.config, args, { shell: TAKES_ITS_TIME });
    expect([code, stderr]).toEqual([0, '']);
    expect((JSON.parse(stdout) as { items: OrderView[] }).items).toHaveLength(ORDERS);
  } finally {
    await world.close();
  }
});
