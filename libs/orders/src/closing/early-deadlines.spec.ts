import { releaseHeld } from '@app/timeout';
import { type InsertedOrder, insertOrders } from '../../../../test/support/insert-orders';
import { moneyOf, type Placed } from '../../../../test/support/money';
import type { Posted } from '../../../../test/support/ledger-provider';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';
import type { DeadlineKind } from '../order/deadline-table';
import { ExtendWindow } from './extend-window';

const HOUR_MS = 3_600_000;

describe('a deadline that fires before its order is due, as one that was moved by hand', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());
  afterEach(() => world.rows('TRUNCATE orders, deadlines CASCADE'));
  const { receive } = moneyOf(() => world);

  const pending = async (): Promise<InsertedOrder> => {
    const [order] = await insertOrders(world, { count: 1, closesInMs: HOUR_MS, payment: 'open' });
    return order as InsertedOrder;
  };
  const paid = async (): Promise<InsertedOrder> => {
    const order = await pending();
    const { paymentId, amount } = order as Placed;
    world.provider.open({ paymentId, amount, currency: 'EUR' });
    await receive(world.provider.pay(paymentId, new Date()) as Posted);
    return order;
  };
  const shipped = async (): Promise<InsertedOrder> => {
    const order = await paid();
    await world.get(ShipOrder).ship(order.id, 'mia');
    return order;
  };
  const deadlines = (kind: DeadlineKind) =>
    world.rows<{ due_at: Date; version: number }>(
      'SELECT subject_id, due_at, version FROM deadlines WHERE kind = $1',
      [kind],
    );
  /** Each of the order's deadlines at an instant of its own. */
  const moveBack = ({ id }: InsertedOrder) =>
    world.rows(
      `UPDATE deadlines SET due_at = now() - version * interval '1 minute', far = false
        WHERE subject_id = $1`,
      [id],
    );

  it.each([
    ['payment', pending],
    ['shipment', paid],
    ['receipt', shipped],
  ] as const)('of kind %s comes back for when it is due', async (kind, make) => {
    const order = await make();
    const before = await deadlines(kind);
    expect(before).toHaveLength(1);
    await moveBack(order);
    expect(await world.timeouts.runSweep()).toMatchObject({ changed: 0, putBack: 1, lost: 0 });
    expect(await deadlines(kind)).toEqual(before);
  });

  it('comes back also where it was held, and is released', async () => {
    const order = await pending();
    await world.rows(
      `WITH gone AS (DELETE FROM deadlines RETURNING kind, subject_id, due_at, version)
       INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
       SELECT kind, subject_id, due_at, version, 9, 'a bug' FROM gone`,
    );
    await releaseHeld(world, {});
    expect(await world.timeouts.runSweep()).toMatchObject({ changed: 0, putBack: 1, lost: 0 });
    expect(await deadlines('payment')).toMatchObject([
      { subject_id: order.id, due_at: order.closesAt },
    ]);
  });

  it('comes back once where its customer got more time', async () => {
    const order = await pending();
    const more = { by: 'operator', actor: 'mia', reason: 'asked', byMs: HOUR_MS } as const;
    await world.get(ExtendWindow).extend(order.id, more);
    await moveBack(order);
    expect(await world.timeouts.runSweep()).toMatchObject({ changed: 0, putBack: 1, lost: 1 });
    const dueAt = new Date(order.closesAt.getTime() + HOUR_MS);
    expect(await deadlines('payment')).toEqual([
      { subject_id: order.id, due_at: dueAt, version: 2 },
    ]);
  });
});
