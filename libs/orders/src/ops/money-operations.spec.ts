import { randomUUID } from 'node:crypto';
import {
  brokenInvariants,
  closeUnanswered,
  openOrder,
  paidOrder,
  receive,
  tell,
  unanswered,
} from '../../../../test/support/paid-order';
import { post, type Posted } from '../../../../test/support/ledger-provider';
import { TEST_SKU } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { CancelOrder } from '../closing/cancel-order';
import { ShipOrder } from '../fulfilment/ship-order';
import { answerTo } from '../http/error-problem';
import { FoldStock } from '../stock/fold-stock';
import { readOrders } from '../order/order-rows';
import { CancelOrderByOperator } from './cancel-order-by-operator';
import { CreateRefund } from './create-refund';
import { DismissWebhook } from './dismiss-webhook';
import { SettleOrder } from './settle-order';

const OLGA = { actor: 'olga', reason: 'case 9' };
const codeOf = (error: unknown): string => answerTo(error).problem.code;
/** As clients do: fifty want more connections than there are, and one row, and who waits too long comes again. */
const patiently = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    if (['busy', 'unavailable'].includes(codeOf(error))) return patiently(work);
    throw error;
  });
const fiftyAtOnce = <T>(work: () => Promise<T>): Promise<PromiseSettledResult<T>[]> =>
  Promise.allSettled(Array.from({ length: 50 }, () => patiently(work)));
/** What those were told who were refused. */
const refusals = (answers: readonly PromiseSettledResult<unknown>[]): string[] =>
  answers.flatMap((one) => (one.status === 'rejected' ? [codeOf(one.reason)] : []));
let world: World;
beforeAll(async () => (world = await openWorld({ settings: { CANCEL_PAID: 'until_shipped' } })));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const read = async (id: string) => (await readOrders(world, [id])).get(id);
const refundsOf = (paymentId: string | null) =>
  world.rows('SELECT reason, amount, status FROM refunds WHERE payment_id = $1 ORDER BY id', [
    paymentId,
  ]);
const refund = (id: string, amount: number, dryRun = false) =>
  world.get(CreateRefund).create(id, { ...OLGA, amount, dryRun });

describe('refunds of an operator', () => {
  it('are never more than the order holds, also fifty at once', async () => {
    const { id, paymentId } = await paidOrder(world);
    const refused = refusals(await fiftyAtOnce(() => refund(id, 300)));
    expect(refused).toEqual(Array(47).fill('refund_exceeds_balance'));
    expect(await refundsOf(paymentId)).toHaveLength(3);
    expect(await read(id)).toMatchObject({ status: 'paid' });
  });

  it('of all there is cancel an order that is not shipped, and no other', async () => {
    const [unshipped, shipped] = [await paidOrder(world), await paidOrder(world)];
    await world.get(ShipOrder).ship(shipped.id, 'mia');
    await refund(unshipped.id, 400);
    expect((await refund(unshipped.id, 600)).order).toMatchObject({
      ...{ status: 'canceled', closeReason: 'operator_canceled' },
    });
    expect((await refund(shipped.id, 1_000)).order.status).toBe('shipped');
  });

  it('are one for each Idempotency-Key, also fifty at once, whatever answers were lost', async () => {
    const { id, paymentId } = await paidOrder(world);
    const again = (amount: number) =>
      world.get(CreateRefund).create(id, { ...OLGA, amount, idempotencyKey: 'case-9' });
    expect(refusals(await fiftyAtOnce(() => again(100)))).toEqual([]);
    const [made] = await world.rows<{ id: string }>(
      'SELECT id FROM refunds WHERE payment_id = $1',
      [paymentId],
    );
    expect(await again(100)).toMatchObject({ replayed: true, refundIds: [made?.id] });
    await expect(again(101)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    expect(await refundsOf(paymentId)).toEqual([expect.objectContaining({ amount: '100' })]);
  });

  const stock = async () => {
    await world.get(FoldStock).runOnce();
    const [row] = await world.rows<{ available: number; sold: number }>(
      'SELECT available, sold FROM products WHERE sku = $1',
      [TEST_SKU],
    );
    return row as NonNullable<typeof row>;
  };
  const sendBack = (id: string, quantity: number, amount = 10) =>
    world.get(CreateRefund).create(id, { ...OLGA, amount, restock: [{ sku: TEST_SKU, quantity }] });

  it('put back what was returned, never more than was bought, also fifty at once', async () => {
    const { id } = await paidOrder(world);
    await world.get(ShipOrder).ship(id, 'mia');
    const before = await stock();
    const refused = refusals(await fiftyAtOnce(() => sendBack(id, 1)));
    expect(refused).toEqual(Array(48).fill('restock_exceeds_order'));
    expect(await stock()).toEqual({ available: before.available + 2, sold: before.sold - 2 });
    // One that is refused sends nothing back either.
    expect(await read(id)).toMatchObject({ balance: { refunded: 0 } });
    expect(await world.rows('SELECT FROM order_returns WHERE order_id = $1', [id])).toHaveLength(2);
    expect((await read(id))?.items).toMatchObject([{ quantity: 2, returned: 2 }]);
  });

  it('leave nothing to be put back twice when the order is canceled after all', async () => {
    const { id } = await paidOrder(world);
    const before = await stock();
    await sendBack(id, 1);
    expect((await sendBack(id, 1, 990)).order.status).toBe('canceled');
    expect(await stock()).toEqual({ available: before.available + 2, sold: before.sold - 2 });
    const again = sendBack((await paidOrder(world, { closesInMs: 60_000 })).id, 3);
    await expect(again).rejects.toMatchObject({ code: 'restock_exceeds_order' });
  });

  it('change nothing in a dry run', async () => {
    const { id, paymentId } = await paidOrder(world);
    expect((await refund(id, 1_000, true)).refundIds).toHaveLength(1);
    expect(await refundsOf(paymentId)).toEqual([]);
    expect(await read(id)).toMatchObject({ status: 'paid' });
  });
});

describe('canceling a paid order', () => {
  it('refunds a customer whose order is not shipped, and refuses one that is', async () => {
    const [order, shipped] = [await paidOrder(world), await paidOrder(world)];
    await world.get(ShipOrder).ship(shipped.id, 'mia');
    const canceled = await world.get(CancelOrder).cancel(order.id, 'ann');
    expect(canceled).toMatchObject({ status: 'canceled', closeReason: 'customer_canceled' });
    expect(await refundsOf(order.paymentId)).toMatchObject([
      { reason: 'customer_canceled', amount: '1000' },
    ]);
    await expect(world.get(CancelOrder).cancel(shipped.id, 'ann')).rejects.toMatchObject({
      code: 'order_not_cancelable',
      message: expect.stringContaining('unpaid, or paid and not shipped') as string,
    });
  });

  it('is off for customers unless a policy says so', async () => {
    const strict = await openWorld({ beside: world, settings: { CANCEL_PAID: 'off' } });
    const order = await paidOrder(world);
    const canceling = strict.get(CancelOrder).cancel(order.id, 'ann');
    await expect(canceling).rejects.toMatchObject({ code: 'order_not_cancelable' });
    await strict.close();
  });

  it('is written down for an operator, and refuses an unpaid order', async () => {
    const [order, unpaid] = [await paidOrder(world), await openOrder(world)];
    const canceling = world.get(CancelOrderByOperator);
    const rehearsed = await canceling.cancel(order.id, { ...OLGA, dryRun: true });
    expect(rehearsed).toMatchObject({ order: { status: 'paid' }, refundIds: [expect.any(String)] });
    expect((await canceling.cancel(order.id, OLGA)).order.status).toBe('canceled');
    const [event] = await world.rows(
      'SELECT by, actor, reason FROM order_events WHERE order_id = $1 ORDER BY version DESC LIMIT 1',
      [order.id],
    );
    expect(event).toEqual({ by: 'operator', ...OLGA });
    await expect(canceling.cancel(unpaid.id, OLGA)).rejects.toThrow('force-close');
  });
});

describe('an order whose provider will never answer', () => {
  const stuck = async () => {
    const order = await openOrder(world);
    await closeUnanswered(world, order.id, OLGA);
    expect(await read(order.id)).toMatchObject({ status: 'closing' });
    return order;
  };
  const settle = async (id: string, as: 'closed' | 'paid') =>
    (await world.get(SettleOrder).settle(id, { ...OLGA, as })).order;

  it('is closed by an operator; money that shows up later goes back', async () => {
    const { id, paymentId } = await stuck();
    expect(await settle(id, 'closed')).toMatchObject({ status: 'closed' });
    await receive(world, world.provider.pay(paymentId, new Date()) as Posted);
    expect(await refundsOf(paymentId)).toMatchObject([{ reason: 'late_payment' }]);
    await expect(settle(id, 'paid')).rejects.toMatchObject({ code: 'order_not_settleable' });
  });

  it('is paid by an operator; the notice that comes later is known', async () => {
    const { id, paymentId } = await stuck();
    expect(await settle(id, 'paid')).toMatchObject({
      ...{ status: 'paid', balance: { captured: 1_000 } },
    });
    await receive(world, world.provider.pay(paymentId, new Date()) as Posted);
    expect(await read(id)).toMatchObject({ status: 'paid', balance: { captured: 1_000, held: 0 } });
  });

  it.each([
    ['refund.succeeded', { providerRefundId: 're-all', amount: 1_000 }, 'refunded_at_provider'],
    ['dispute.opened', { disputeId: 'dp-all', amount: 1_000 }, 'dispute_lost'],
  ])(
    'is paid by nothing where a %s has told that all is gone',
    async (type, about, closeReason) => {
      const order = await stuck();
      await tell(world, order, type, about);
      if (type === 'dispute.opened') await tell(world, order, 'dispute.lost', about);
      expect(await settle(order.id, 'paid')).toMatchObject({
        ...{ status: 'canceled', closeReason, balance: { captured: 1_000, held: 0 } },
      });
    },
  );

  it('is canceled, as its customer wished while it waited, and its money goes back', async () => {
    const order = await openOrder(world);
    const canceling = () => world.get(CancelOrder).cancel(order.id, 'ann');
    expect(await unanswered(world, canceling)).toMatchObject({ status: 'closing' });
    expect(await settle(order.id, 'paid')).toMatchObject({
      ...{ status: 'canceled', closeReason: 'customer_canceled' },
      balance: { captured: 1_000, held: 0 },
    });
    expect(await refundsOf(order.paymentId)).toMatchObject([
      { reason: 'customer_canceled', amount: '1000' },
    ]);
  });

  it('learns what the provider calls its payment, though an operator has said that it is paid', async () => {
    const { id, paymentId } = await stuck();
    // The answer to the call that created it was lost.
    await world.rows('UPDATE payments SET provider_payment_id = NULL WHERE id = $1', [paymentId]);
    await settle(id, 'paid');
    await receive(world, world.provider.pay(paymentId, new Date()) as Posted);
    expect(await read(id)).toMatchObject({ status: 'paid', balance: { captured: 1_000, held: 0 } });
    expect(
      await world.rows('SELECT provider_payment_id FROM payments WHERE id = $1', [paymentId]),
    ).toEqual([{ provider_payment_id: `pay-${paymentId}` }]);
  });
});

describe('a held webhook', () => {
  const held = async (notice: Readonly<Record<string, unknown>>): Promise<string> => {
    const eventId = randomUUID();
    await receive(world, post({ eventId, ...notice }));
    const [row] = await world.rows<{ id: string; status: string }>(
      'SELECT id, status FROM webhook_events WHERE event_id = $1',
      [eventId],
    );
    expect(row?.status).toBe('held');
    return row?.id as string;
  };
  const money = { amount: 7, currency: 'EUR', paidAt: new Date() };
  const capture = { type: 'payment.succeeded', money };

  it('is dismissed by an operator, with a record, once', async () => {
    const id = await held({ ...capture, paymentId: randomUUID(), providerPaymentId: 'theirs' });
    await new DismissWebhook(world.dataSource).dismiss(id, OLGA);
    const [row] = await world.rows(
      `SELECT w.result, a.actor FROM webhook_events w JOIN operator_actions a ON a.subject_id = w.id
        WHERE w.id = $1`,
      [id],
    );
    expect(row).toEqual({ result: 'dismissed', actor: 'olga' });
    const again = new DismissWebhook(world.dataSource).dismiss(id, OLGA);
    await expect(again).rejects.toMatchObject({ code: 'webhook_not_dismissable' });
  });

  it('of money on hold is not: the money has to be settled', async () => {
    const { paymentId } = await openOrder(world);
    const id = await held({ ...capture, paymentId, providerPaymentId: `pay-${paymentId}` });
    const dismissing = new DismissWebhook(world.dataSource).dismiss(id, OLGA);
    await expect(dismissing).rejects.toThrow(`settle payment ${paymentId}`);
  });

  it('of money of nobody is dismissed while other money is on hold', async () => {
    const { paymentId } = await openOrder(world);
    await held({ ...capture, paymentId, providerPaymentId: `pay-${paymentId}` });
    const id = await held({ ...capture, paymentId: randomUUID(), providerPaymentId: 'no one' });
    expect(await new DismissWebhook(world.dataSource).dismiss(id, OLGA)).toEqual({ id });
  });
});
