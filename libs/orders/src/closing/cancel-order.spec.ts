import { inTransaction } from '@app/timeout';
import type { Posted } from '../../../../test/support/ledger-provider';
import {
  brokenInvariants,
  openOrder,
  paidUnheard,
  type Payable,
  receive,
  tell,
} from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';
import type { HookTx } from '../order/hook-tx';
import { type HooksOrders, OrderHook, type OrderTransition } from '../order/order-hook';
import { readOrders } from '../order/order-rows';
import { Reconcile } from '../reconciling/reconcile';
import { CancelOrder } from './cancel-order';
import { ForceCloseOrder } from './force-close-order';
import { SettleClosing } from './settle-closing';

const OLGA = { actor: 'olga', reason: 'case 9' };

let strict: World;
let lenient: World;
beforeAll(async () => {
  strict = await openWorld();
  lenient = await openWorld({ beside: strict, settings: { CANCEL_PAID: 'until_shipped' } });
});
afterAll(async () => {
  await lenient?.close();
  await strict?.close();
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const { provider } of [strict, lenient]) provider.unreachable = undefined;
  expect(await brokenInvariants(strict)).toEqual([]);
});

const read = async (id: string) => (await readOrders(strict, [id])).get(id);
const cancel = (world: World, { id }: Payable) => world.get(CancelOrder).cancel(id, 'ann');
const forceClose = (world: World, { id }: Payable) =>
  world.get(ForceCloseOrder).forceClose(id, OLGA);

/** Does this while the order is still waited for, once its provider has answered. */
function meanwhile(world: World, act: () => Promise<unknown>): void {
  const settling = world.get(SettleClosing);
  jest.spyOn(settling, 'settleSoon').mockImplementation(async (orderId) => {
    await settling.settle(orderId);
    await act();
  });
}

describe('canceling an order that was paid, as its provider says when it is asked', () => {
  it('cancels it where a paid one may be canceled, and its money goes back', async () => {
    const order = await paidUnheard(lenient);
    expect(await cancel(lenient, order)).toMatchObject({
      ...{ status: 'canceled', closeReason: 'customer_canceled' },
      payments: [{ refund: { reason: 'customer_canceled', amount: order.amount } }],
    });
    const history = await strict.rows(
      'SELECT to_status, by FROM order_events WHERE order_id = $1 AND version > 1 ORDER BY version',
      [order.id],
    );
    expect(history).toEqual([
      { to_status: 'closing', by: 'customer' },
      { to_status: 'paid', by: 'provider' },
      { to_status: 'canceled', by: 'customer' },
    ]);
  });

  it('is refused where a paid one stays paid', async () => {
    const order = await paidUnheard(strict);
    await expect(cancel(strict, order)).rejects.toMatchObject({
      ...{ code: 'order_not_cancelable', fields: { status: 'paid' } },
    });
    expect(await read(order.id)).toMatchObject({ status: 'paid' });
  });

  it('waits for who has its payment at that moment, which is no failure', async () => {
    const order = await paidUnheard(strict);
    const toldBefore = strict.told.length;
    await inTransaction(strict.drainDataSource, async (tx) => {
      await tx.rows('SELECT FROM payments WHERE id = $1 FOR NO KEY UPDATE', [order.paymentId]);
      expect(await cancel(strict, order)).toMatchObject({ status: 'closing' });
    });
    const failed = strict.told.slice(toldBefore).filter(({ name }) => name === 'failed');
    expect(failed).toEqual([]);
    await strict.get(SettleClosing).settle(order.id);
    expect(await read(order.id)).toMatchObject({ status: 'paid' });
  });

  it('leaves its merchant no time to ship it', async () => {
    const order = await paidUnheard(lenient);
    const shipping = jest.fn(() => lenient.get(ShipOrder).ship(order.id, 'mia'));
    meanwhile(lenient, () => shipping().catch(() => undefined));
    expect(await cancel(lenient, order)).toMatchObject({ status: 'canceled' });
    await expect(shipping.mock.results[0]?.value).rejects.toMatchObject({
      code: 'order_not_shippable',
    });
  });

  it('never says yes to its customer and to its merchant, who ships it at once', async () => {
    const order = await paidUnheard(lenient);
    let shipping: Promise<unknown> | undefined;
    meanwhile(lenient, async () => {
      shipping = lenient.get(ShipOrder).ship(order.id, 'mia');
    });
    const [canceled] = await Promise.allSettled([cancel(lenient, order)]);
    const [shipped] = await Promise.allSettled([shipping]);
    expect([canceled.status, shipped.status].sort()).toEqual(['fulfilled', 'rejected']);
    const { status } = (await read(order.id)) ?? {};
    expect(status).toBe(canceled.status === 'fulfilled' ? 'canceled' : 'shipped');
  });

  describe('answers with the fence while the provider has not answered, and then', () => {
    async function fenced(world: World): Promise<Payable> {
      const order = await openOrder(world);
      world.provider.unreachable = 'before';
      expect(await cancel(world, order)).toMatchObject({ status: 'closing' });
      world.provider.unreachable = undefined;
      return order;
    }

    const reconcile = () =>
      lenient.get(Reconcile).run({
        since: new Date(Date.now() - 60_000),
        fixFor: OLGA,
        onDifference: () => undefined,
      });

    it.each([
      ['tells that it was paid', (posted: Posted) => receive(lenient, posted)],
      ['says so when it is asked', async () => undefined],
      ['says so in its ledger', reconcile],
    ])('cancels it, once the provider %s', async (_how, hear) => {
      const order = await fenced(lenient);
      await hear(lenient.provider.pay(order.paymentId, new Date()) as Posted);
      await lenient.get(SettleClosing).settle(order.id);
      expect(await read(order.id)).toMatchObject({
        ...{ status: 'canceled', closeReason: 'customer_canceled' },
        payments: [{ refund: { reason: 'customer_canceled', amount: order.amount } }],
      });
    });

    it('leaves it paid where a paid one stays paid', async () => {
      const order = await fenced(strict);
      strict.provider.pay(order.paymentId, new Date());
      await strict.get(SettleClosing).settle(order.id);
      expect(await read(order.id)).toMatchObject({ status: 'paid' });
    });

    it('leaves one paid that an operator has closed by force', async () => {
      const order = await openOrder(lenient);
      lenient.provider.unreachable = 'before';
      expect(await forceClose(lenient, order)).toMatchObject({ status: 'closing' });
      lenient.provider.unreachable = undefined;
      lenient.provider.pay(order.paymentId, new Date());
      await lenient.get(SettleClosing).settle(order.id);
      expect(await read(order.id)).toMatchObject({ status: 'paid' });
    });

    it('leaves one paid whose money is on hold, and those beside it are paid', async () => {
      const order = await fenced(lenient);
      const other = await openOrder(lenient);
      const notices = [order, other].map(
        ({ paymentId }) => lenient.provider.pay(paymentId, new Date()) as Posted,
      );
      await tell(lenient, order, 'dispute.opened', { disputeId: `dp-${order.id}`, amount: 1_000 });
      await Promise.all(notices.map((notice) => receive(lenient, notice)));
      expect(await read(order.id)).toMatchObject({ status: 'paid' });
      expect(await read(other.id)).toMatchObject({ status: 'paid' });
    });
  });
});

describe('where the host will not have a paid order canceled', () => {
  @OrderHook()
  class KeepsWhatIsPaid implements HooksOrders {
    async onTransition({ from, to }: OrderTransition, tx: HookTx): Promise<void> {
      if (from === 'paid' && to === 'canceled') await tx.query('SELECT 1 / 0');
    }
  }
  let host: World;
  beforeAll(async () => {
    const settings = { CANCEL_PAID: 'until_shipped' };
    host = await openWorld({ beside: strict, settings, provides: [KeepsWhatIsPaid] });
  });
  afterAll(() => host?.close());

  async function fenced(): Promise<Payable> {
    const order = await openOrder(host);
    host.provider.unreachable = 'before';
    expect(await cancel(host, order)).toMatchObject({ status: 'closing' });
    host.provider.unreachable = undefined;
    return order;
  }

  it.each([
    ['tells that it was paid', (posted: Posted) => receive(host, posted)],
    ['says so when it is asked', async () => undefined],
  ])('stays paid, with its money recorded, once the provider %s', async (_how, hear) => {
    const [order, other] = [await fenced(), await openOrder(host)];
    await Promise.all([
      hear(host.provider.pay(order.paymentId, new Date()) as Posted),
      receive(host, host.provider.pay(other.paymentId, new Date()) as Posted),
    ]);
    await host.get(SettleClosing).settle(order.id);
    const { status, payments } = (await read(order.id)) ?? {};
    expect({ status, payments }).toMatchObject({
      ...{ status: 'paid', payments: [{ status: 'succeeded', refund: null }] },
    });
    expect(await read(other.id)).toMatchObject({ status: 'paid' });
    expect(host.told).toContainEqual({
      name: 'failed',
      args: ['cancel a paid order', expect.objectContaining({ message: 'division by zero' })],
    });
  });
});

describe('closing such an order by force', () => {
  it('is refused, whatever its customer may', async () => {
    for (const world of [strict, lenient]) {
      const order = await paidUnheard(world);
      await expect(forceClose(world, order)).rejects.toMatchObject({
        ...{ code: 'order_not_closable', fields: { orderId: order.id, status: 'paid' } },
      });
      expect(await read(order.id)).toMatchObject({ status: 'paid' });
    }
  });

  it('answers with the fence while the provider has not answered', async () => {
    const order = await paidUnheard(strict);
    strict.provider.unreachable = 'before';
    expect(await forceClose(strict, order)).toMatchObject({ status: 'closing' });
  });
});
