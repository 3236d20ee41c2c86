import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { settlePayment } from '../../../../test/support/settle-payment';
import { openWorld, type World } from '../../../../test/support/world';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const { placed, paid, tell, read } = moneyOf(() => world);
const settle = ({ paymentId }: Placed, decision: 'refund' | 'keep') =>
  settlePayment(world, paymentId, decision);

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

  it('is told of before it was taken: that waits no more, and what is held of others does', async () => {
    const [order, other] = [await paid(), await paid()];
    const refund = (one: Placed) =>
      tell(one, 'refund.succeeded', {
        ...{ providerPaymentId: `other-${one.id}`, providerRefundId: 're-other', amount: 100 },
      });
    await refund(order);
    await refund(other);
    const waits = await webhooksOf(other);
    expect(waits).toMatchObject([{ result: 'paid' }, { status: 'held' }]);
    await capture(order, 700, `other-${order.id}`);
    expect(await webhooksOf(other)).toEqual(waits);
    const ofOrder = (await webhooksOf(order)).map(({ status }) => status);
    expect(ofOrder).toEqual(['processed', 'received', 'held']);
  });
});
