import { randomUUID } from 'node:crypto';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const { paid, tell, refunded, disputed, read, refundsOf } = moneyOf(() => world);

describe('money taken twice for an order, all of which has gone before it is told of', () => {
  const again = async (order: Placed): Promise<Placed> => {
    const paymentId = randomUUID();
    await world.rows(
      `INSERT INTO payments (id, order_id, provider, provider_payment_id, status, amount, currency, expires_at)
       SELECT $2::uuid, id, 'sandbox', 'pay-' || $2, 'closed', amount, currency, now() FROM orders WHERE id = $1`,
      [order.id, paymentId],
    );
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
