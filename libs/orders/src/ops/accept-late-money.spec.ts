import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { anotherPayment } from '../../../../test/support/another-payment';
import { TEST_SKU } from '../../../../test/support/insert-orders';
import { post, type Posted } from '../../../../test/support/ledger-provider';
import { untilLocksAreWaitedFor } from '../../../../test/support/lock-waits';
import {
  brokenInvariants,
  closeUnanswered,
  openOrder,
  paidOrder,
  receive,
  tell,
} from '../../../../test/support/paid-order';
import { settlePayment } from '../../../../test/support/settle-payment';
import { openWorld, type World } from '../../../../test/support/world';
import { readOrders } from '../order/order-rows';
import { FoldStock } from '../stock/fold-stock';
import { SettleOrder } from './settle-order';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const read = async (id: string) => (await readOrders(world, [id])).get(id);
const settle = (paymentId: string, decision: 'accept' | 'refund' | 'keep') =>
  settlePayment(world, paymentId, decision);

describe('late money on hold', () => {
  const late = async () => {
    const order = await openOrder(world, { latePayment: 'hold', closesInMs: -1 });
    world.provider.entries.delete(`pay-${order.paymentId}`);
    await world.rows(`UPDATE payments SET status = 'closed' WHERE id = $1`, [order.paymentId]);
    await world.timeouts.runSweep();
    await world.get(FoldStock).runOnce();
    world.provider.open({ paymentId: order.paymentId, amount: order.amount, currency: 'EUR' });
    await receive(world, world.provider.pay(order.paymentId, new Date()) as Posted);
    expect(await read(order.id)).toMatchObject({ status: 'closed', balance: { held: 1_000 } });
    return order;
  };
  const accept = (paymentId: string) => settle(paymentId, 'accept');
  const available = (quantity: number) =>
    world.rows(
      `UPDATE products SET on_hand = on_hand - available + $2, available = $2 WHERE sku = $1`,
      [TEST_SKU, quantity],
    );

  it('pays its order after all where an operator accepts it, with its stock, and ends its webhook', async () => {
    const { id, paymentId } = await late();
    await accept(paymentId);
    expect(await read(id)).toMatchObject({
      ...{ status: 'paid', closedAt: null, balance: { captured: 1_000, held: 0 } },
    });
    expect(
      await world.rows(
        `SELECT result FROM webhook_events WHERE status = 'held'
                           AND notice ->> 'paymentId' = $1`,
        [paymentId],
      ),
    ).toEqual([]);
    expect(
      await world.rows('SELECT actor, action FROM operator_actions WHERE subject_id = $1', [
        paymentId,
      ]),
    ).toEqual([{ actor: 'olga', action: 'payment.accept' }]);
    await expect(accept(paymentId)).rejects.toMatchObject({ code: 'payment_not_settleable' });
  });

  describe('whose product somebody is changing', () => {
    let merchant: Client;
    beforeEach(async () => {
      merchant = new Client({ connectionString: world.ownerUrl });
      await merchant.connect();
    });
    afterEach(() => merchant.end());
    const lateAndHeld = async () => {
      const order = await late();
      await merchant.query('BEGIN');
      await merchant.query('UPDATE products SET name = name WHERE sku = $1', [TEST_SKU]);
      return order;
    };

    it('is accepted after that, which may be no more than a fold of stock', async () => {
      const patient = await openWorld({ beside: world, waitsForLocks: true });
      const { id, paymentId } = await lateAndHeld();
      const accepted = settlePayment(patient, paymentId, 'accept');
      const look = new Client({ connectionString: world.ownerUrl });
      await look.connect();
      await Promise.race([accepted, untilLocksAreWaitedFor(look, 1)]).finally(() => look.end());
      await merchant.query('COMMIT');
      await accepted.finally(() => patient.close());
      expect(await read(id)).toMatchObject({ status: 'paid' });
    });

    it('stays on hold where that takes too long', async () => {
      const { id, paymentId } = await lateAndHeld();
      await expect(accept(paymentId)).rejects.toMatchObject({
        name: 'LastcallError',
        code: 'busy',
      });
      expect(await read(id)).toMatchObject({ status: 'closed', balance: { held: 1_000 } });
    });
  });

  it('stays on hold where the stock is gone', async () => {
    const { id, paymentId } = await late();
    await available(1);
    await expect(accept(paymentId)).rejects.toThrow(`"${TEST_SKU}" is sold out`);
    expect(await read(id)).toMatchObject({ status: 'closed', balance: { held: 1_000 } });
    await available(100);
    await accept(paymentId);
    expect(await read(id)).toMatchObject({ status: 'paid' });
  });

  it('is not accepted once somebody has sent all of it back', async () => {
    const { id, paymentId } = await late();
    const byHand = { providerRefundId: `re-${id}`, idempotencyKey: null, why: null };
    const about = { paymentId, providerPaymentId: `pay-${paymentId}`, ...byHand };
    const refund = (amount: number) =>
      receive(world, post({ ...about, type: 'refund.succeeded', eventId: randomUUID(), amount }));
    await refund(1_000);
    await expect(accept(paymentId)).rejects.toThrow('nothing of it is left');
    expect(await read(id)).toMatchObject({ status: 'closed', version: 2 });
  });

  it('is not accepted once all of it is back, though its order has other money', async () => {
    const order = await late();
    const other = await anotherPayment(world, order.id);
    world.provider.open({ paymentId: other, amount: order.amount, currency: 'EUR' });
    await receive(world, world.provider.pay(other, new Date()) as Posted);
    await tell(world, order, 'refund.succeeded', {
      ...{ providerRefundId: `re-${order.id}`, amount: 1_000 },
    });
    await expect(accept(order.paymentId)).rejects.toThrow('nothing of it is left');
    expect(await read(order.id)).toMatchObject({ status: 'closed' });
    await accept(other);
    expect(await read(order.id)).toMatchObject({ status: 'paid' });
  });
});

it('is money of another amount than an operator had said, whose payment had no name: it can go back', async () => {
  const { id, paymentId } = await openOrder(world);
  await world.rows('UPDATE payments SET provider_payment_id = NULL WHERE id = $1', [paymentId]);
  await closeUnanswered(world, id, OLGA);
  await world.get(SettleOrder).settle(id, { as: 'paid', ...OLGA });
  await receive(world, world.provider.pay(paymentId, new Date(), { amount: 900 }) as Posted);
  await settle(paymentId, 'refund');
  const told = await world.rows(
    `SELECT p.provider_payment_id, w.result FROM payments p
       JOIN webhook_events w ON w.notice ->> 'paymentId' = p.id::text WHERE p.id = $1`,
    [paymentId],
  );
  expect(told).toEqual([{ provider_payment_id: `pay-${paymentId}`, result: 'settled' }]);
});

it('says what ends the hold of money that its provider contradicts, and that has all gone back', async () => {
  const order = await paidOrder(world);
  const { paymentId } = order;
  await tell(world, order, 'refund.succeeded', { providerRefundId: 're-1', amount: 1_000 });
  const money = { amount: 900, currency: 'EUR', paidAt: new Date() };
  await tell(world, order, 'payment.succeeded', { money });
  await expect(settle(paymentId, 'refund')).rejects.toThrow('keep it');
  expect(await settle(paymentId, 'keep')).toMatchObject({ refundId: null });
});
