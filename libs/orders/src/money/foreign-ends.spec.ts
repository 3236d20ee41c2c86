import { inTransaction } from '@app/timeout';
import type { Posted } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { settlePayment } from '../../../../test/support/settle-payment';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const { paid, placed, receive, tell, refunded, disputed, read, refundsOf } = moneyOf(() => world);

/** What has to go back, or has, by requests of ours. */
const owed = async (one: Placed) =>
  (await refundsOf(one))
    .filter(({ status }) => status !== 'canceled')
    .reduce((sum, { amount }) => sum + Number(amount), 0);

const alertsOf = ({ id }: Placed, alert: string) =>
  world.told.flatMap(({ name, args: [what, about] }) =>
    name === 'alert' && what === alert && (about as { orderId?: string }).orderId === id
      ? [about]
      : [],
  );

describe('what ends at the provider with another amount than it began with', () => {
  it('is a dispute that is won: nothing of it is disputed any more', async () => {
    const order = await paid();
    await disputed(order, 'opened', 'dp', 1_000);
    await disputed(order, 'won', 'dp', 600);
    expect((await read(order)).balance).toMatchObject({ disputed: 0 });
    expect((await world.get(ShipOrder).ship(order.id, 'mia')).status).toBe('shipped');
    expect(world.told).toContainEqual({
      name: 'alert',
      args: ['dispute_won', expect.objectContaining({ amount: 1_000, told: 600 })],
    });
  });

  it('is a dispute that is lost: it hides none that is still open', async () => {
    const order = await paid();
    await disputed(order, 'opened', 'dp', 300);
    await disputed(order, 'opened', 'other', 200);
    await disputed(order, 'lost', 'dp', 500);
    expect((await read(order)).balance).toMatchObject({ disputed: 500 });
    await expect(world.get(ShipOrder).ship(order.id, 'mia')).rejects.toMatchObject({
      fields: { why: 'disputed' },
    });
  });

  it('is a refund made there that fails: nothing of it has gone back', async () => {
    const order = await paid();
    await refunded(order, 300, 're-part');
    await tell(order, 'refund.failed', { providerRefundId: 're-part', amount: 250 });
    expect((await read(order)).balance).toMatchObject({ refunded: 0 });
  });

  it.each([
    ['dispute', 'dispute.opened', 'dispute.won'],
    ['refund', 'refund.succeeded', 'refund.failed'],
  ])(
    'is a %s of money that turns out to be of another currency: no more goes back than was taken',
    async (_, begins, ends) => {
      const order = await placed();
      const ref = `of-${order.id}`;
      const about = { disputeId: ref, providerRefundId: ref, amount: 1_000 };
      await tell(order, begins, about);
      const money = { amount: 1_000, currency: 'USD', paidAt: new Date() };
      await tell(order, 'payment.succeeded', { money });
      expect(await settlePayment(world, order.paymentId, 'refund')).toMatchObject({
        refundId: null,
      });
      await tell(order, ends, about);
      expect(await owed(order)).toBe(1_000);
    },
  );
});

describe('a dispute that is lost, of which a part comes back', () => {
  /** What had been refunded before comes back to the shop, as the bank has taken all of the payment. */
  const lost = (order: Placed, returned?: number) =>
    tell(order, 'dispute.lost', { disputeId: `dp-${order.id}`, amount: 1_000, returned });

  it('leaves with the buyer what did not come back, whichever is told of first', async () => {
    const order = await paid();
    await refunded(order, 300);
    await disputed(order, 'opened');
    await lost(order);
    expect((await read(order)).balance).toMatchObject({ refunded: 300, disputed: 1_000 });
    await lost(order, 300);
    await lost(order, 300);
    expect((await read(order)).balance).toMatchObject({ refunded: 300, disputed: 700 });
    expect(await owed(order)).toBe(0);
    const about = { orderId: order.id, amount: 1_000, returned: 300 };
    expect(alertsOf(order, 'dispute_part_returned')).toEqual([expect.objectContaining(about)]);
  });

  it('leaves its order what came back with the end', async () => {
    const order = await paid();
    await disputed(order, 'opened');
    await lost(order, 400);
    const { status, balance } = await read(order);
    expect({ status, ...balance }).toMatchObject({ status: 'paid', disputed: 600 });
    expect(alertsOf(order, 'dispute_lost')).toEqual([expect.objectContaining({ returned: 400 })]);
  });

  it('sends what came back to the customer of an order that is over', async () => {
    const order = await paid();
    await disputed(order, 'opened');
    await lost(order);
    expect((await read(order)).status).toBe('canceled');
    await lost(order, 400);
    expect(await owed(order)).toBe(400);
  });

  it('never gives more back than it had taken', async () => {
    const order = await paid();
    await disputed(order, 'opened', 'dp', 500);
    await tell(order, 'dispute.lost', { disputeId: `dp-${order.id}`, amount: 500, returned: 900 });
    expect((await read(order)).balance).toMatchObject({ disputed: 0 });
  });
});

describe('money that pays nothing, and comes back after it was sent back', () => {
  /** Taken for another payment of the provider, under the reference of the order's own. */
  const stray = async (order: Placed, amount: number) => {
    const about = { ...order, providerPaymentId: `stray-${order.id}` };
    const money = { amount, currency: 'EUR', paidAt: new Date() };
    await tell(order, 'payment.succeeded', { ...about, money });
    const [row] = await world.rows<{ id: string }>(
      'SELECT id FROM payments WHERE provider_payment_id = $1',
      [about.providerPaymentId],
    );
    const paymentId = row?.id ?? '';
    return { ...order, paymentId, providerPaymentId: about.providerPaymentId };
  };
  const sendBack = ({ paymentId }: Placed) => settlePayment(world, paymentId, 'refund');
  const waitingOf = ({ paymentId }: Placed) =>
    world.rows(
      `SELECT status, result FROM webhook_events
        WHERE notice ->> 'paymentId' = $1 AND status <> 'processed'`,
      [paymentId],
    );

  it('goes out again while its order is paid by other money', async () => {
    const order = await paid();
    const other = await stray(order, 700);
    const disputeId = `dp-${order.id}`;
    await tell(order, 'dispute.opened', { ...other, disputeId, amount: 400 });
    await sendBack(other);
    expect(await owed(other)).toBe(300);
    await tell(order, 'dispute.won', { ...other, disputeId, amount: 400 });
    expect(await owed(other)).toBe(700);
    expect((await read(order)).status).toBe('paid');
    await refunded(order, 1_000);
    expect((await read(order)).status).toBe('canceled');
  });

  it('is sent back no second time where that was told of before it was taken', async () => {
    const order = await paid();
    const about = { providerPaymentId: `stray-${order.id}`, providerRefundId: `re-${order.id}` };
    await tell(order, 'refund.succeeded', { ...about, amount: 700 });
    const other = await stray(order, 700);
    await world.timeouts.runSweep();
    expect(await sendBack(other)).toMatchObject({ refundId: null });
    expect(await owed(other)).toBe(0);
    expect(await waitingOf(order)).toEqual([]);
    await tell(order, 'refund.failed', { ...about, amount: 700 });
    expect(await owed(other)).toBe(700);
  });

  it("is not taken for nobody's while somebody writes down that it was taken", async () => {
    const order = await paid();
    const about = { providerPaymentId: `stray-${order.id}`, disputeId: `dp-${order.id}` };
    await inTransaction(world.drainDataSource, async (tx) => {
      await tx.rows('SELECT FROM orders WHERE id = $1 FOR UPDATE', [order.id]);
      await tell(order, 'dispute.opened', { ...about, amount: 700 });
    });
    expect(await waitingOf(order)).toEqual([{ status: 'received', result: null }]);
    await world.timeouts.runSweep();
    expect(await waitingOf(order)).toEqual([{ status: 'held', result: 'unknown_reference' }]);
  });

  it('goes out again while its order still waits for its payment', async () => {
    const order = await placed();
    await receive(world.provider.pay(order.paymentId, new Date(), { amount: 900 }) as Posted);
    await tell(order, 'dispute.opened', { disputeId: 'dp-open', amount: 400 });
    await sendBack(order);
    await tell(order, 'dispute.won', { disputeId: 'dp-open', amount: 400 });
    expect(await owed(order)).toBe(900);
  });
});
