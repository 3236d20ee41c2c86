import { inTransaction, Uuids } from '@app/timeout';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { changeStatus } from './change-status';

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await insertProduct(world, 'TEA', 1_000);
});
afterAll(() => world?.close());

const waiting = async (orderId: string): Promise<string[]> => {
  const rows = await world.rows<{ name: string }>(
    `SELECT kind || ' in ' || tableoid::regclass AS name FROM deadlines WHERE subject_id = $1`,
    [orderId],
  );
  return rows.map(({ name }) => name);
};
const change = (
  id: string,
  from: 'pending_payment' | 'paid' | 'shipped',
  to: 'paid' | 'shipped' | 'completed',
) =>
  inTransaction(world.dataSource, (tx) =>
    changeStatus(tx, { from, to, orderIds: Uuids.of([id]), by: 'merchant', actor: 'mona' }),
  );
const pendingOrder = async (): Promise<string> => {
  const [order] = await insertOrders(world, { count: 1, closesInMs: 60_000 });
  return order?.id as string;
};

describe('the deadline of a status that is over', () => {
  it('leaves with it, and those of weeks wait apart', async () => {
    const id = await pendingOrder();
    expect(await waiting(id)).toEqual(['payment in near_deadlines']);
    await change(id, 'pending_payment', 'paid');
    expect(await waiting(id)).toEqual(['shipment in far_deadlines']);
    await change(id, 'paid', 'shipped');
    expect(await waiting(id)).toEqual(['receipt in far_deadlines']);
    await change(id, 'shipped', 'completed');
    expect(await waiting(id)).toEqual([]);
  });

  it('is not waited for while a closer has it, who takes the deadline before the order', async () => {
    const id = await pendingOrder();
    const closer = await beginHeldOpen(world.dataSource);
    await closer.query('DELETE FROM near_deadlines WHERE subject_id = $1', [id]);
    await change(id, 'pending_payment', 'paid');
    await closer.rollbackTransaction();
    await closer.release();
    expect((await waiting(id)).sort()).toEqual([
      'payment in near_deadlines',
      'shipment in far_deadlines',
    ]);
    // It fires once, changes nothing and is gone.
    await world.rows(
      `UPDATE deadlines SET due_at = now() - interval '1 second' WHERE kind = 'payment'`,
    );
    expect(await world.timeouts.runSweep()).toMatchObject({ found: 1, changed: 0, lost: 1 });
    expect(await waiting(id)).toEqual(['shipment in far_deadlines']);
  });
});
