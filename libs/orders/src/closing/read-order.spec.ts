import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertOrders } from '../../../../test/support/insert-orders';
import { statusesOf } from '../../../../test/support/order-statuses';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { OrderHooks } from '../order/order-hooks';
import { StartPayment } from '../payments/start-payment';
import { CancelOrder } from './cancel-order';
import { ExtendWindow } from './extend-window';
import { ListOrders, ReadOrder } from './read-order';

let world: World;
beforeAll(
  async () =>
    (world = await openWorld({ settings: { CUSTOMER_EXTENSION: '1m' }, waitsForLocks: true })),
);
afterAll(() => world?.close());
afterEach(() => jest.restoreAllMocks());

const BROKEN = new Error('the hook is broken');
const PASSIVE_CLOSE = 'passive close';

const overdueOrder = async (): Promise<string> =>
  (await insertOrders(world, { count: 1, closesInMs: -1_000 }))[0]?.id as string;

const failEachClose = (): void =>
  void jest.spyOn(world.get(OrderHooks), 'run').mockImplementation(async (_, { to }) => {
    if (to === 'closed') throw BROKEN;
  });

describe("a customer's own orders", () => {
  it.each([undefined, null, '', 'a\0', 7, { length: 1 }, 'bob'])(
    'are not shown to %p',
    async (who) => {
      const id = await overdueOrder();
      const reading = world.get(ReadOrder).read(id, who as string);
      await expect(reading).rejects.toMatchObject({ code: 'order_not_found' });
      const filter = { customerId: who as string, limit: 20 };
      expect(await world.get(ListOrders).list(filter)).toEqual({ items: [], nextCursor: null });
      expect(await statusesOf(world, [id])).toEqual(['pending_payment']);
    },
  );

  it('are shown to them, and to whoever asks for those of any customer', async () => {
    const id = await overdueOrder();
    expect(await world.get(ReadOrder).read(id, 'ann')).toMatchObject({ id, status: 'closed' });
    expect(await world.get(ReadOrder).readOfAnyCustomer(id)).toMatchObject({ customerId: 'ann' });
    expect(await world.get(ListOrders).list({ limit: 1 })).toMatchObject({ items: [{ id }] });
  });
});

describe('reading an overdue order', () => {
  it('answers with it as it is where closing it fails, and tells of it', async () => {
    const id = await overdueOrder();
    failEachClose();
    expect(await world.get(ReadOrder).read(id, 'ann')).toMatchObject({ status: 'pending_payment' });
    expect(world.told).toContainEqual({ name: 'failed', args: [PASSIVE_CLOSE, BROKEN] });
    jest.restoreAllMocks();
    expect(await world.get(ReadOrder).read(id, 'ann')).toMatchObject({ status: 'closed' });
  });

  it('opens no payment for it then, gives it no more time, and cancels nothing', async () => {
    const id = await overdueOrder();
    failEachClose();
    const starting = world.get(StartPayment).start({ orderId: id, customerId: 'ann' });
    await expect(starting).rejects.toMatchObject({ code: 'payment_window_over' });
    const more = { by: 'customer', actor: 'ann', byMs: 60_000 } as const;
    const extending = world.get(ExtendWindow).extend(id, more);
    await expect(extending).rejects.toMatchObject({ code: 'order_not_extendable' });
    await expect(world.get(CancelOrder).cancel(id, 'ann')).rejects.toBe(BROKEN);
    expect(await statusesOf(world, [id])).toEqual(['pending_payment']);
  });

  it('waits for nobody who holds its row', async () => {
    const id = await overdueOrder();
    const holder = await beginHeldOpen(world.dataSource);
    try {
      await holder.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [id]);
      let isOver = false;
      const reading = world
        .get(ReadOrder)
        .read(id, 'ann')
        .finally(() => (isOver = true));
      const waits = `SELECT FROM pg_stat_activity
                      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await until('it is read, or waits', async () => {
        expect(await world.rows(waits)).toEqual([]);
        return isOver;
      });
      expect(await reading).toMatchObject({ status: 'pending_payment' });
    } finally {
      await holder.rollbackTransaction();
      await holder.release();
    }
    expect(await world.get(ReadOrder).read(id, 'ann')).toMatchObject({ status: 'closed' });
  });
});
