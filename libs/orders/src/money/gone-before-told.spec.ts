import { inTransaction } from '@app/timeout';
import { anotherPayment } from '../../../../test/support/another-payment';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { settlePayment } from '../../../../test/support/settle-payment';
import { openWorld, type World } from '../../../../test/support/world';
import { readHappenings } from '../ops/order-timeline';
import { onDataSource } from '../order/order-rows';
import { readBalances } from './balance';
import { RecordCaptures } from './record-captures';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const { placed, paid, tell, refunded, disputed, read, refundsOf } = moneyOf(() => world);

describe('money taken twice for an order, all of which has gone before it is told of', () => {
  const again = async (order: Placed): Promise<Placed> => {
    const paymentId = await anotherPayment(world, order.id);
    return { ...order, paymentId };
  };
  const captured = (other: Placed) =>
    tell(other, 'payment.succeeded', {
      money: { amount: 1_000, currency: 'EUR', paidAt: new Date() },
    });
  const owed = async (one: Placed) =>
    (await refundsOf(one))
      .filter(({ status }) => status !== 'canceled')
      .reduce((sum, { amount }) => sum + Number(amount), 0);

  it('by hand: it is no money of the order, and goes back where that fails', async () => {
    const order = await paid();
    const other = await again(order);
    await refunded(other, 1_000, 're-first');
    await captured(other);
    expect(await brokenInvariants(world)).toEqual([]);
    expect(await owed(other)).toBe(0);
    await tell(other, 'refund.failed', { providerRefundId: 're-first', amount: 1_000 });
    expect(await owed(other)).toBe(1_000);
    expect((await read(order)).status).toBe('paid');
  });

  it('beside one that is told of with it, and goes back as it should', async () => {
    const [gone, here] = [await again(await paid()), await again(await paid())];
    await refunded(gone, 1_000);
    const money = { amount: 1_000, currency: 'EUR', paidAt: new Date() };
    const captures = [gone, here].map(({ paymentId }) => ({
      ...{ paymentId, providerPaymentId: `pay-${paymentId}`, money },
    }));
    await inTransaction(world.dataSource, (tx) =>
      world.get(RecordCaptures).record(tx, captures, 'webhook'),
    );
    const written = [await refundsOf(gone), await refundsOf(here)];
    expect(written).toMatchObject([[{ status: 'canceled' }], [{ status: 'requested' }]]);
  });

  it('by a dispute: it goes back once that is won', async () => {
    const order = await paid();
    const other = await again(order);
    await disputed(other, 'opened');
    await captured(other);
    expect(await owed(other)).toBe(0);
    await disputed(other, 'won');
    expect(await owed(other)).toBe(1_000);
  });
});

describe('money of another currency than was asked for, some of which has gone before it is told of', () => {
  const GONE = [
    ['by hand', 'refund.succeeded', { refunded: 400 }],
    ['by a dispute', 'dispute.lost', { disputed: 400 }],
  ] as const;

  it.each(GONE)('%s: no more than the rest goes back', async (_, type, gone) => {
    const order = await placed();
    const ref = `gone-${order.id}`;
    await tell(order, type, { disputeId: ref, providerRefundId: ref, amount: 400 });
    const money = { amount: 1_000, currency: 'USD', paidAt: new Date() };
    await tell(order, 'payment.succeeded', { money });
    expect(await brokenInvariants(world)).toEqual([]);
    const sql = onDataSource(world.dataSource);
    const told = (await readHappenings(sql, order.id)).filter(({ kind }) => kind === 'money');
    expect(new Set(told.map(({ currency }) => currency))).toEqual(new Set(['USD']));
    expect(await readBalances(sql, [order.id])).toMatchObject([
      { currency: 'USD', captured: 1_000, held: 1_000, ...gone },
    ]);
    await settlePayment(world, order.paymentId, 'refund');
    expect(await refundsOf(order)).toMatchObject([{ amount: '600' }]);
  });
});
