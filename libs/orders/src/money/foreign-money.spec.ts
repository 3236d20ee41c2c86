import { TEST_SKU } from '../../../../test/support/insert-orders';
import { type Posted } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { settlePayment } from '../../../../test/support/settle-payment';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';
import { FoldStock } from '../stock/fold-stock';
import { ConfirmReceipt } from '../fulfilment/confirm-receipt';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const OLGA = { actor: 'olga', reason: 'case 9' };

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

describe('a dispute', () => {
  it('stops shipping, and says so, until it is won', async () => {
    const order = await paid();
    await disputed(order, 'opened');
    expect((await read(order)).balance).toMatchObject({ disputed: 1_000 });
    await expect(ship(order)).rejects.toMatchObject({
      ...{ code: 'order_not_shippable', fields: { why: 'disputed' } },
    });
    await disputed(order, 'won');
    // Told late, of what is over.
    await disputed(order, 'opened');
    expect((await read(order)).balance).toMatchObject({ disputed: 0 });
    expect((await ship(order)).status).toBe('shipped');
  });

  it('that is lost cancels an order that has not been shipped, and refunds nothing', async () => {
    const order = await paid();
    await disputed(order, 'lost');
    await disputed(order, 'opened');
    expect(await read(order)).toMatchObject({ status: 'canceled', closeReason: 'dispute_lost' });
    expect(await refundsOf(order)).toEqual([]);
  });

  it('keeps a refund from being sent, and a lost one cancels it', async () => {
    const order = await paid();
    // Not by a sweep: a slow one would come to the refund as well, before the dispute.
    await world.get(CancelOrderByOperator).cancel(order.id, OLGA);
    expect(await refundsOf(order)).toMatchObject([{ status: 'requested' }]);
    await disputed(order, 'opened');
    const asked = jest.spyOn(world.provider, 'refund');
    const again = async () => {
      await world.rows(
        `UPDATE deadlines SET due_at = now() - interval '1 second' WHERE kind = 'refund'
            AND subject_id IN (SELECT id FROM refunds WHERE payment_id = $1)`,
        [order.paymentId],
      );
      await world.timeouts.runSweep();
    };
    await again();
    expect(await refundsOf(order)).toMatchObject([{ status: 'requested' }]);
    await disputed(order, 'lost');
    await again();
    expect(await refundsOf(order)).toMatchObject([{ status: 'canceled' }]);
    const { paymentId } = order;
    expect(asked).not.toHaveBeenCalledWith(expect.objectContaining({ paymentId }));
  });

  it('pauses the receipt that comes by itself, and not the customer who confirms it', async () => {
    const [waiting, confirmed] = [await paid(), await paid()];
    for (const order of [waiting, confirmed]) {
      await ship(order);
      await disputed(order, 'opened');
      await world.rows(
        `WITH due AS (UPDATE orders SET receive_within_ms = 0 WHERE id = $1 RETURNING id, version)
         INSERT INTO deadlines (kind, due_at, subject_id, version)
         SELECT 'receipt', now(), id, version FROM due ON CONFLICT DO NOTHING`,
        [order.id],
      );
    }
    await world.timeouts.runSweep();
    expect((await read(waiting)).status).toBe('shipped');
    const { customer_id: customer } = (
      await world.rows<{ customer_id: string }>('SELECT customer_id FROM orders WHERE id = $1', [
        confirmed.id,
      ])
    )[0] as { customer_id: string };
    await world.get(ConfirmReceipt).confirm(confirmed.id, customer);
    expect((await read(confirmed)).status).toBe('completed');
    await disputed(waiting, 'won');
    await world.rows(
      `UPDATE deadlines SET due_at = now() - interval '1 second' WHERE subject_id = $1`,
      [waiting.id],
    );
    await world.timeouts.runSweep();
    expect((await read(waiting)).status).toBe('completed');
  });

  it('that was lost and is said to be won is for an operator to look at', async () => {
    const order = await paid();
    await disputed(order, 'lost');
    await disputed(order, 'won');
    const [held] = await world.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM webhook_events WHERE result = 'dispute_contradiction'`,
    );
    expect(held?.n).toBe(1);
  });
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

describe('money that does not fit', () => {
  const capture = (order: Placed, amount: number, providerPaymentId = `pay-${order.paymentId}`) =>
    tell(order, 'payment.succeeded', {
      ...{ providerPaymentId, money: { amount, currency: 'EUR', paidAt: new Date() } },
    });
  const webhooksOf = ({ paymentId }: Placed) =>
    world.rows<{ status: string; result: string }>(
      `SELECT status, result FROM webhook_events WHERE notice ->> 'paymentId' = $1 ORDER BY id`,
      [paymentId],
    );
  const movementsOf = ({ id }: Placed) =>
    world.rows<{ kind: string; amount: string }>(
      'SELECT kind, amount FROM money_movements WHERE order_id = $1 ORDER BY id',
      [id],
    );

  it.each(['refund', 'keep'] as const)(
    'ends its webhooks when it is settled (%s), and is known when it is told again',
    async (decision) => {
      const order = await placed();
      await capture(order, 400);
      await capture(order, 400);
      const told = await webhooksOf(order);
      expect(told.map(({ status }) => status)).toContain('held');
      await settle(order, decision);
      expect((await webhooksOf(order)).map(({ status }) => status)).not.toContain('held');
      await capture(order, 400);
      expect((await webhooksOf(order)).map(({ status }) => status)).not.toContain('held');
      expect((await read(order)).balance).toMatchObject({ captured: 400, held: 0 });
    },
  );

  it('is a row with its amount where the provider changes its mind, and stays settled', async () => {
    const order = await paid();
    await capture(order, 999);
    expect(await movementsOf(order)).toMatchObject([
      { kind: 'captured', amount: '1000' },
      { kind: 'mismatch', amount: '999' },
      { kind: 'held', amount: '1000' },
    ]);
    await settle(order, 'keep');
    await capture(order, 999);
    expect(await read(order)).toMatchObject({ status: 'paid', balance: { held: 0 } });
  });

  it('is a payment of its own where it was taken under our reference and we did not open it', async () => {
    const order = await paid();
    await capture(order, 700, 'pay-of-another');
    const payments = await world.rows<{ provider_payment_id: string; amount: string }>(
      `SELECT provider_payment_id, captured_amount AS amount FROM payments
        WHERE order_id = $1 AND hold_reason = 'reference_mismatch'`,
      [order.id],
    );
    expect(payments).toEqual([{ provider_payment_id: 'pay-of-another', amount: '700' }]);
    expect((await read(order)).balance).toMatchObject({ captured: 1_700, held: 700 });
  });

  it('is not the money of ours, also where its refund and its dispute are told of before it', async () => {
    const order = await paid();
    const other = { providerPaymentId: `other-${order.id}` };
    await tell(order, 'refund.succeeded', {
      ...other,
      providerRefundId: 're-other',
      amount: 1_000,
    });
    await tell(order, 'dispute.lost', { ...other, disputeId: 'dp-other', amount: 1_000 });
    expect(await read(order)).toMatchObject({
      ...{ status: 'paid', balance: { refunded: 0, disputed: 0 } },
    });
    const told = (await webhooksOf(order)).map(({ result }) => result);
    expect(told).toEqual(['paid', 'unknown_reference', 'unknown_reference']);
  });
});
