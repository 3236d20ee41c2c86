import { inTransaction } from '@app/timeout';
import { insertOrders } from '../../../../test/support/insert-orders';
import type { Posted } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';
import { FoldStock } from '../stock/fold-stock';
import { RecordCaptures } from './record-captures';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const { receive, read, refundsOf } = moneyOf(() => world);

/** Closed by its timeout, and paid in time, of which nothing was told; so many pieces of its product are left. */
async function closedWith(available: number): Promise<{ order: Placed; paid: Posted }> {
  const [order] = (await closed(1, available)) as [Placed];
  const { paymentId, amount, closesAt } = order;
  world.provider.open({ paymentId, amount, currency: 'EUR' });
  return { order, paid: world.provider.pay(paymentId, closesAt, { late: true }) as Posted };
}
async function closed(count: number, available: number): Promise<Placed[]> {
  const wanted = { count, closesInMs: -10, payment: 'failed', quantity: 2 } as const;
  const late = { latePayment: 'revive', sku: `TEA-${count}-${available}` } as const;
  const orders = (await insertOrders(world, { ...wanted, ...late })) as Placed[];
  await world.timeouts.drainAll('timer');
  await world.get(FoldStock).runOnce();
  await world.rows(
    `UPDATE products SET on_hand = on_hand - available + $2, available = $2 WHERE sku = $1`,
    [late.sku, available],
  );
  expect(await statusesOf(orders)).toEqual(orders.map(() => 'closed'));
  return orders;
}
const statusesOf = (orders: readonly Placed[]) =>
  Promise.all(orders.map(async (order) => (await read(order)).status));
const resultOf = ({ paymentId }: Placed) =>
  world.rows(`SELECT status, result FROM webhook_events WHERE notice ->> 'paymentId' = $1`, [
    paymentId,
  ]);

describe('money in time for an order that was closed, where such an order is revived', () => {
  it('pays it while its stock is there', async () => {
    const { order, paid } = await closedWith(2);
    await receive(paid);
    expect(await read(order)).toMatchObject({ status: 'paid', closedAt: null });
    expect(await refundsOf(order)).toEqual([]);
    expect(await resultOf(order)).toEqual([{ status: 'processed', result: 'revived' }]);
  });

  it('goes back once its stock is gone, and no webhook is said to have revived it', async () => {
    const { order, paid } = await closedWith(1);
    await receive(paid);
    expect((await read(order)).status).toBe('closed');
    expect(await refundsOf(order)).toMatchObject([{ reason: 'late_payment', amount: '1000' }]);
    expect(await resultOf(order)).toEqual([{ status: 'processed', result: 'refund_requested' }]);
  });

  it('pays one of two that are told of together, where no more is left than that one needs', async () => {
    const orders = await closed(2, 3);
    const captures = orders.map(({ paymentId, amount, closesAt }) => ({
      ...{ paymentId, providerPaymentId: `pay-${paymentId}` },
      money: { amount, currency: 'EUR', paidAt: closesAt },
    }));
    const outcomes = await inTransaction(world.dataSource, (tx) =>
      world.get(RecordCaptures).record(tx, captures, 'webhook'),
    );
    expect(outcomes).toEqual(['revive', 'refund']);
    expect(await statusesOf(orders)).toEqual(['paid', 'closed']);
  });
});
