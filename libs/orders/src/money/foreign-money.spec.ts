import { TEST_SKU } from '../../../../test/support/insert-orders';
import { type Posted } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { settlePayment } from '../../../../test/support/settle-payment';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';
import { FoldStock } from '../stock/fold-stock';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const { placed, receive, paid, tell, refunded, disputed, read, refundsOf } = moneyOf(() => world);
const settle = ({ paymentId }: Placed, decision: 'refund' | 'keep') =>
  settlePayment(world, paymentId, decision);
const ship = ({ id }: Placed) => world.get(ShipOrder).ship(id, 'mia');
const sold = async () => {
  await world.get(FoldStock).runOnce();
  const [row] = await world.rows<{ sold: number }>('SELECT sold FROM products WHERE sku = $1', [
    TEST_SKU,
  ]);
  return row?.sold;
};

describe('money that moves at the provider', () => {
  it('cancels a paid order that is refunded in full, with its stock, once', async () => {
    const before = (await sold()) ?? 0;
    const order = await paid();
    expect(await sold()).toBe(before + 2);
    await refunded(order, 1_000, 're-1');
    await refunded(order, 1_000, 're-1');
    expect(await read(order)).toMatchObject({
      ...{ status: 'canceled', closeReason: 'refunded_at_provider' },
      balance: { captured: 1_000, refunded: 1_000, disputed: 0, held: 0 },
    });
    expect(await sold()).toBe(before);
    expect(await refundsOf(order)).toEqual([]);
  });

  it('records a partial refund and ships the order all the same', async () => {
    const order = await paid();
    await refunded(order, 300);
    expect(await read(order)).toMatchObject({ status: 'paid', balance: { refunded: 300 } });
    expect((await ship(order)).status).toBe('shipped');
    await refunded(order, 700);
    expect(await read(order)).toMatchObject({ status: 'shipped', balance: { refunded: 1_000 } });
    const alerts = world.told.filter(({ name }) => name === 'alert').map(({ args }) => args);
    const about = { orderId: order.id, paymentId: order.paymentId };
    expect(alerts.slice(-2)).toMatchObject([
      ['refunded_outside', { ...about, amount: 300 }],
      ['refunded_outside', { ...about, amount: 700 }],
    ]);
  });

  it('cancels the order when its capture is told of after the refund', async () => {
    const order = await placed();
    const capture = world.provider.pay(order.paymentId, new Date()) as Posted;
    await refunded(order, 1_000);
    await receive(capture);
    expect(await read(order)).toMatchObject({ closeReason: 'refunded_at_provider' });
  });

  it('does not count a dashboard refund that failed, in whatever order that is told', async () => {
    const order = await paid();
    const failed = { providerRefundId: 're-f', amount: 1_000, why: 'account closed' };
    await tell(order, 'refund.failed', failed);
    await refunded(order, 1_000, 're-f');
    expect(await read(order)).toMatchObject({ status: 'paid', balance: { refunded: 0 } });
  });

  it('sends back what a canceled order got back from its dashboard refund', async () => {
    const order = await paid();
    await refunded(order, 1_000, 're-back');
    await tell(order, 'refund.failed', { providerRefundId: 're-back', amount: 1_000 });
    expect(await refundsOf(order)).toMatchObject([{ reason: 'returned_money', amount: '1000' }]);
  });

  it('sends back all that a canceled order got back, in parts', async () => {
    const order = await paid();
    await refunded(order, 600, 're-a');
    await refunded(order, 400, 're-b');
    for (const [providerRefundId, amount] of [
      ['re-a', 600],
      ['re-b', 400],
      ['re-b', 400],
    ] as const) {
      await tell(order, 'refund.failed', { providerRefundId, amount });
    }
    const inParts = (await refundsOf(order)).sort((a, b) => Number(b.amount) - Number(a.amount));
    expect(inParts).toMatchObject([
      { reason: 'returned_money', amount: '600' },
      { reason: 'returned_money', amount: '400' },
    ]);
    expect((await read(order)).balance).toMatchObject({ refunded: 0 });
  });

  const owed = async (order: Placed) =>
    (await refundsOf(order)).reduce((sum, { amount }) => sum + Number(amount), 0);
  const canceled = async () => {
    const order = await paid();
    await refunded(order, 600, `re-a-${order.id}`);
    await refunded(order, 400, `re-b-${order.id}`);
    return order;
  };
  const comesBack = (order: Placed) =>
    tell(order, 'refund.failed', { providerRefundId: `re-a-${order.id}`, amount: 600 });

  it.each([
    { outcome: 'won', amount: 600 },
    { outcome: 'lost', amount: 200 },
  ] as const)(
    'sends back what a canceled order got back while a dispute was open, which is $outcome then',
    async ({ outcome, amount }) => {
      const order = await canceled();
      await disputed(order, 'opened', 'dp', 400);
      await comesBack(order);
      await disputed(order, outcome, 'dp', 400);
      expect(await owed(order)).toBe(amount);
    },
  );

  it.each(['refund', 'keep'] as const)(
    'sends back what a canceled order got back while other money of it was on hold (%s)',
    async (decision) => {
      const order = await canceled();
      const money = { amount: 700, currency: 'EUR', paidAt: new Date() };
      await tell(order, 'payment.succeeded', { providerPaymentId: `other-${order.id}`, money });
      await comesBack(order);
      expect(await owed(order)).toBe(600);
      const [stray] = await world.rows<{ id: string }>(
        'SELECT id FROM payments WHERE order_id = $1 AND hold_reason IS NOT NULL',
        [order.id],
      );
      const held = { ...order, paymentId: stray?.id as string };
      await settle(held, decision);
      expect(await owed(order)).toBe(600);
      expect(await owed(held)).toBe(decision === 'refund' ? 700 : 0);
    },
  );
});

describe('a paid order', () => {
  it('is canceled when an operator refunds the money it was paid with', async () => {
    const order = await paid();
    await tell(order, 'payment.succeeded', {
      money: { amount: 999, currency: 'EUR', paidAt: new Date() },
    });
    await expect(ship(order)).rejects.toMatchObject({ fields: { why: 'money_on_hold' } });
    await settle(order, 'refund');
    expect(await read(order)).toMatchObject({
      ...{ status: 'canceled', closeReason: 'operator_canceled' },
    });
    await expect(ship(order)).rejects.toMatchObject({ code: 'order_not_shippable' });
    await until('the refund is there', async () => (await refundsOf(order)).length === 1);
  });

  it('with its money on hold is not canceled by its deadline; kept, it then is, and refunded', async () => {
    const order = await paid({ shipWithinMs: 0 });
    await tell(order, 'payment.succeeded', {
      money: { amount: 999, currency: 'EUR', paidAt: new Date() },
    });
    await world.timeouts.runSweep();
    expect((await read(order)).status).toBe('paid');
    await settle(order, 'keep');
    await world.rows(
      `UPDATE deadlines SET due_at = now() - interval '1 second' WHERE subject_id = $1`,
      [order.id],
    );
    await world.timeouts.runSweep();
    expect(await read(order)).toMatchObject({ closeReason: 'shipment_timeout' });
    expect(await refundsOf(order)).toMatchObject([{ amount: '1000' }]);
  });
});
