import { anotherPayment } from '../../../../test/support/another-payment';
import type { Posted } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { settlePayment } from '../../../../test/support/settle-payment';
import { openWorld, type World } from '../../../../test/support/world';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { CreateRefund } from '../ops/create-refund';

const OLGA = { actor: 'olga', reason: 'case 9' };

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const { paid, placed, receive, tell, refunded, disputed, read } = moneyOf(() => world);

/** Money of a payment that we did not open, taken under the reference of an order that is paid. */
async function tellOfOther(order: Placed, amount: number): Promise<string> {
  await tell(order, 'payment.succeeded', {
    providerPaymentId: `other-${order.id}`,
    money: { amount, currency: 'EUR', paidAt: new Date() },
  });
  const [other] = await world.rows<{ id: string }>(
    `SELECT id FROM payments WHERE order_id = $1 AND hold_reason = 'reference_mismatch'`,
    [order.id],
  );
  return (other as { id: string }).id;
}

async function owedFor({ id }: Placed): Promise<number[]> {
  const rows = await world.rows<{ amount: string }>(
    `SELECT r.amount FROM refunds r JOIN payments p ON p.id = r.payment_id
      WHERE p.order_id = $1 ORDER BY r.amount`,
    [id],
  );
  return rows.map(({ amount }) => Number(amount));
}

describe('money that an operator has decided to keep', () => {
  it.each(['operator', 'deadline'] as const)(
    'stays with the shop where its order is canceled by its %s',
    async (by) => {
      const order = await paid(by === 'deadline' ? { shipWithinMs: 0 } : {});
      await settlePayment(world, await tellOfOther(order, 700), 'keep');
      if (by === 'operator') await world.get(CancelOrderByOperator).cancel(order.id, OLGA);
      else await world.timeouts.runSweep();
      expect(await read(order)).toMatchObject({
        ...{ status: 'canceled', balance: { captured: 1_700, held: 0 } },
      });
      expect(await owedFor(order)).toEqual([1_000]);
    },
  );

  it('goes back with all other money where the operator has it refunded', async () => {
    const order = await paid();
    await settlePayment(world, await tellOfOther(order, 700), 'refund');
    await world.get(CancelOrderByOperator).cancel(order.id, OLGA);
    expect(await owedFor(order)).toEqual([700, 1_000]);
  });

  it.each([
    ['refunded at the provider', (order: Placed) => refunded(order, 1_000)],
    ['taken by a dispute', (order: Placed) => disputed(order, 'lost')],
    [
      'refunded by an operator',
      ({ id }: Placed) => world.get(CreateRefund).create(id, { ...OLGA, amount: 1_000 }),
    ],
  ])('pays for no order whose own money is %s', async (_, goes) => {
    const order = await paid();
    await settlePayment(world, await tellOfOther(order, 700), 'keep');
    await goes(order);
    expect(await read(order)).toMatchObject({ status: 'canceled' });
  });

  it('is the last that an operator sends back, however early it came', async () => {
    const order = await placed();
    const paymentId = `00000000-0000-7${order.id.slice(15)}`;
    await anotherPayment(world, order.id, { id: paymentId });
    const money = { amount: 700, currency: 'EUR', paidAt: new Date() };
    await tell({ ...order, paymentId }, 'payment.succeeded', { money });
    await settlePayment(world, paymentId, 'keep');
    await receive(world.provider.pay(order.paymentId, new Date()) as Posted);
    const { refundIds } = await world
      .get(CreateRefund)
      .create(order.id, { ...OLGA, amount: 1_000 });
    expect(refundIds).toHaveLength(1);
    expect(await read(order)).toMatchObject({ status: 'canceled' });
    expect(await owedFor(order)).toEqual([1_000]);
  });
});
