import { type DeadlineHandler, inTransaction } from '@app/timeout';
import { type InsertedOrder, insertOrders } from '../../../../test/support/insert-orders';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { moneyOf, type Placed } from '../../../../test/support/money';
import type { Posted } from '../../../../test/support/ledger-provider';
import { openWorld, type World } from '../../../../test/support/world';
import { ReceiptDeadline } from './receipt.deadline';
import { ShipOrder } from './ship-order';
import { ShipmentDeadline } from './shipment.deadline';

const COUNT = 20;

describe('an order that somebody holds', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());
  const { receive } = moneyOf(() => world);

  /** Paid orders, overdue in what they wait for. */
  const paid = async (waits: {
    shipWithinMs?: number;
    receiveWithinMs?: number;
  }): Promise<InsertedOrder[]> => {
    const orders = await insertOrders(world, {
      ...{ count: COUNT, closesInMs: 60_000, payment: 'open', ...waits },
    });
    for (const { paymentId, amount } of orders as Placed[]) {
      world.provider.open({ paymentId, amount, currency: 'EUR' });
      await receive(world.provider.pay(paymentId, new Date()) as Posted);
    }
    return orders;
  };
  const shipped = async () => {
    const orders = await paid({ receiveWithinMs: 0 });
    for (const { id } of orders) await world.get(ShipOrder).ship(id, 'mia');
    return orders;
  };
  const statuses = (orders: readonly InsertedOrder[]) =>
    world.rows<{ status: string; n: number }>(
      `SELECT status, count(*)::int AS n FROM orders WHERE id = ANY ($1::uuid[])
        GROUP BY status ORDER BY n`,
      [orders.map(({ id }) => id)],
    );

  it.each([
    ['not shipped in time', ShipmentDeadline, () => paid({ shipWithinMs: 0 }), 'paid', 'canceled'],
    ['whose receipt nobody denied', ReceiptDeadline, shipped, 'shipped', 'completed'],
  ] as const)('keeps no others %s', async (_, type, make, before, after) => {
    const orders = await make();
    const handler: DeadlineHandler = world.get<DeadlineHandler>(type);
    const due = orders.map(({ id, closesAt }) => ({
      ...{ kind: before, subjectId: id, version: 1, failures: 3, dueAt: closesAt },
    }));
    const handle = () => inTransaction(world.dataSource, (tx) => handler.handle(due, tx, 'sweep'));
    const holder = await beginHeldOpen(world.dataSource);
    try {
      await holder.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orders[7]?.id]);
      const { changed, lost, putBack } = await handle();
      expect({ changed, lost }).toEqual({ changed: COUNT - 1, lost: 0 });
      expect(putBack).toEqual([{ ...due[7], dueAt: expect.any(Date) as Date }]);
      expect(await statuses(orders)).toEqual([
        { status: before, n: 1 },
        { status: after, n: COUNT - 1 },
      ]);
    } finally {
      await holder.rollbackTransaction();
      await holder.release();
    }
    expect(await handle()).toEqual({ changed: 1, lost: COUNT - 1, putBack: [] });
    expect(await statuses(orders)).toEqual([{ status: after, n: COUNT }]);
  });
});
