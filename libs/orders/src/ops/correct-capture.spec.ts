import type { LedgerEntry } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { closeUnanswered } from '../../../../test/support/paid-order';
import { refundAttemptsOf } from '../../../../test/support/refund-attempts';
import { settlePayment } from '../../../../test/support/settle-payment';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { ForceCloseOrder } from '../closing/force-close-order';
import { RefundDeadline } from '../money/refund.deadline';
import { CorrectedCaptures1764141000000 } from '../migrations/1764141000000-corrected-captures';
import { Reconcile } from '../reconciling/reconcile';
import { CancelOrderByOperator } from './cancel-order-by-operator';
import { SettleOrder } from './settle-order';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const OLGA = { actor: 'olga', reason: 'case 9' };
const { placed, paid, tell, read, refundsOf } = moneyOf(() => world);
const { settle, comesDue, isAsked } = refundAttemptsOf(() => world, RefundDeadline);

const tellTaken = (order: Placed, amount: number, currency = 'EUR') =>
  tell(order, 'payment.succeeded', { money: { amount, currency, paidAt: new Date() } });
const correct = (order: Placed, seen?: number) =>
  settlePayment(world, order.paymentId, 'correct', seen);
const cancel = (order: Placed) => world.get(CancelOrderByOperator).cancel(order.id, OLGA);
/** An operator has said that it was paid, with all that was asked for. */
const saidToBePaid = async (): Promise<Placed> => {
  const order = await placed();
  await closeUnanswered(world, order.id, OLGA);
  await world.get(SettleOrder).settle(order.id, { as: 'paid', ...OLGA });
  return order;
};
/** What its provider has of it, and the differences from our books that are found then. */
const differences = async (order: Placed, amount: number) => {
  const entry = world.provider.entries.get(`pay-${order.paymentId}`) as LedgerEntry;
  Object.assign(entry, { status: 'paid', money: { amount, currency: 'EUR', paidAt: new Date() } });
  const found: string[] = [];
  const onDifference = (one: { orderId: string | null; what: string }): void =>
    void (one.orderId === order.id && found.push(one.what));
  await world.get(Reconcile).run({ since: new Date(Date.now() - 60_000), onDifference });
  return found;
};

describe('money of which its provider tells another amount than was recorded', () => {
  it.each([800, 1_200])('counts as %i where an operator corrects it', async (amount) => {
    const order = await saidToBePaid();
    await tellTaken(order, amount);
    expect(await read(order)).toMatchObject({ status: 'paid', balance: { held: 1_000 } });
    expect(await differences(order, amount)).toEqual(['amount']);
    expect(await correct(order)).toMatchObject({ correctedAmount: amount });
    expect(await read(order)).toMatchObject({
      ...{ status: 'paid', balance: { captured: amount, held: 0 } },
    });
    expect(await differences(order, amount)).toEqual([]);
    await tellTaken(order, amount);
    expect((await read(order)).balance).toMatchObject({ captured: amount, held: 0 });
    await cancel(order);
    expect(await refundsOf(order)).toMatchObject([{ amount: String(amount) }]);
  });

  it('counts once also when the migration that lets it be corrected is taken back', async () => {
    const order = await saidToBePaid();
    await tellTaken(order, 800);
    await correct(order);
    const migration = new CorrectedCaptures1764141000000();
    const runner = (await world.owner.dataSource()).createQueryRunner();
    await migration.down(runner);
    expect((await read(order)).balance).toMatchObject({ captured: 800 });
    await migration.up(runner);
    await runner.release();
  });

  it('pays nothing where none was taken: its order is canceled', async () => {
    const order = await saidToBePaid();
    await tellTaken(order, 0);
    await correct(order);
    expect(await read(order)).toMatchObject({
      ...{ status: 'canceled', balance: { captured: 0 } },
    });
    expect(await refundsOf(order)).toEqual([]);
  });

  it('goes back as it was taken, where more was to go back and was refused', async () => {
    const order = await saidToBePaid();
    await cancel(order);
    const id = (await refundsOf(order))[0]?.id as string;
    await isAsked(id);
    await tellTaken(order, 800);
    await expect(correct(order)).rejects.toThrow('more than 800 EUR');
    await settle(id, 1, { state: 'FAILED', providerRefundId: null, why: 'too much' }, 'answer');
    await correct(order);
    expect(await refundsOf(order)).toMatchObject([
      { id, status: 'canceled' },
      { status: 'requested', amount: '800' },
    ]);
    await comesDue(id);
    expect((await read(order)).balance).toMatchObject({ captured: 800 });
  });

  it('is corrected once for each amount, and back', async () => {
    const order = await paid();
    for (const amount of [800, 1_000]) {
      await tellTaken(order, amount);
      await correct(order);
      expect((await read(order)).balance).toMatchObject({ captured: amount, held: 0 });
    }
    await tellTaken(order, 800);
    expect((await read(order)).balance).toMatchObject({ captured: 1_000, held: 0 });
  });

  it('is corrected by the amount that was told last, and in its own currency alone', async () => {
    const order = await paid();
    await tellTaken(order, 800);
    await tellTaken(order, 700);
    await tellTaken(order, 700, 'USD');
    await expect(correct(order)).rejects.toMatchObject({
      ...{ code: 'payment_not_settleable' },
      message: expect.stringContaining('another currency') as string,
    });
    await tellTaken(order, 600);
    expect(await correct(order)).toMatchObject({ correctedAmount: 600 });
  });

  it('is corrected by what was told last, where that was told before as well', async () => {
    const order = await paid();
    for (const amount of [800, 700, 800, 800]) await tellTaken(order, amount);
    expect(await correct(order)).toMatchObject({ correctedAmount: 800 });
    for (const amount of [600, 800, 700]) await tellTaken(order, amount);
    expect(await correct(order)).toMatchObject({ correctedAmount: 700 });
  });

  it('is corrected by no other amount than was looked at', async () => {
    const order = await paid();
    await tellTaken(order, 800);
    await tellTaken(order, 700);
    await expect(correct(order, 800)).rejects.toThrow('700 has been told since');
    expect((await read(order)).balance).toMatchObject({ captured: 1_000, held: 1_000 });
    expect(await correct(order, 700)).toMatchObject({ correctedAmount: 700 });
  });

  it('is no other money that was taken for its order meanwhile', async () => {
    const order = await paid();
    await tellTaken(order, 800);
    const money = { amount: 700, currency: 'EUR', paidAt: new Date() };
    await tell(order, 'payment.succeeded', { providerPaymentId: `other-${order.id}`, money });
    expect(await correct(order)).toMatchObject({ correctedAmount: 800 });
  });

  it('stays as it was recorded, where that was told last', async () => {
    const order = await paid();
    for (const amount of [800, 1_000]) await tellTaken(order, amount);
    await expect(correct(order)).rejects.toThrow('tells of what was recorded again');
    await settlePayment(world, order.paymentId, 'keep');
    expect((await read(order)).balance).toMatchObject({ captured: 1_000, held: 0 });
  });

  it('is none where nothing else has been told since', async () => {
    const order = await placed();
    await tellTaken(order, 900);
    await expect(correct(order)).rejects.toMatchObject({ code: 'payment_not_settleable' });
  });
});

describe('money on hold for what it was, of which its provider tells another amount since', () => {
  const held = async (...told: readonly number[]): Promise<Placed> => {
    const order = await placed();
    for (const amount of [900, ...told]) await tellTaken(order, amount);
    return order;
  };
  const holdReasonOf = async ({ paymentId }: Placed) => {
    const rows = await world.rows<{ reason: string | null }>(
      'SELECT hold_reason AS reason FROM payments WHERE id = $1',
      [paymentId],
    );
    return rows[0]?.reason;
  };

  it.each([800, 1_000])('counts as %i, stays on hold, and goes back as it was taken', async (n) => {
    const order = await held(n);
    expect(await differences(order, n)).toEqual(['amount']);
    expect(await correct(order)).toMatchObject({ correctedAmount: n });
    expect(await read(order)).toMatchObject({
      ...{ status: 'pending_payment', balance: { captured: n, held: n } },
    });
    expect(await holdReasonOf(order)).toBe('amount_mismatch');
    expect(await differences(order, n)).toEqual([]);
    await expect(correct(order)).rejects.toThrow('tells of what was recorded');
    await settlePayment(world, order.paymentId, 'refund');
    expect(await refundsOf(order)).toMatchObject([{ amount: String(n) }]);
    expect((await read(order)).balance).toMatchObject({ captured: n, held: 0 });
  });

  it('is kept by the shop as it was taken', async () => {
    const order = await held(1_000);
    await correct(order);
    await settlePayment(world, order.paymentId, 'keep');
    expect((await read(order)).balance).toMatchObject({ captured: 1_000, held: 0 });
    await tellTaken(order, 1_000);
    expect(await holdReasonOf(order)).toBeNull();
  });

  it('is corrected by what was told last, and back', async () => {
    const order = await held(1_000, 900);
    await expect(correct(order)).rejects.toThrow('tells of what was recorded');
    await tellTaken(order, 800);
    await correct(order);
    for (const amount of [900, 800, 900]) await tellTaken(order, amount);
    expect(await correct(order)).toMatchObject({ correctedAmount: 900 });
    expect((await read(order)).balance).toMatchObject({ captured: 900, held: 900 });
  });

  it('is nothing where none was taken: no refund is owed of it', async () => {
    const order = await held(0);
    await correct(order);
    await expect(settlePayment(world, order.paymentId, 'refund')).rejects.toThrow('nothing was');
    await settlePayment(world, order.paymentId, 'keep');
    expect(await refundsOf(order)).toEqual([]);
  });

  it('pays no order that costs another amount, though it came late', async () => {
    const order = await placed({ latePayment: 'hold' });
    await world.get(ForceCloseOrder).forceClose(order.id, OLGA);
    await until('its order is closed', async () => (await read(order)).status === 'closed');
    await tellTaken(order, 1_000);
    await tellTaken(order, 800);
    await correct(order);
    await expect(settlePayment(world, order.paymentId, 'accept')).rejects.toMatchObject({
      ...{ code: 'payment_not_settleable' },
      message: expect.stringContaining('costs another amount') as string,
    });
    await tellTaken(order, 1_000);
    await correct(order);
    await settlePayment(world, order.paymentId, 'accept');
    expect(await read(order)).toMatchObject({
      ...{ status: 'paid', balance: { captured: 1_000, held: 0 } },
    });
  });

  it('pays no order before it is corrected, as nobody could correct it after that', async () => {
    const order = await placed({ latePayment: 'hold' });
    await world.get(ForceCloseOrder).forceClose(order.id, OLGA);
    await until('its order is closed', async () => (await read(order)).status === 'closed');
    for (const amount of [1_000, 800]) await tellTaken(order, amount);
    await expect(settlePayment(world, order.paymentId, 'accept')).rejects.toMatchObject({
      ...{ code: 'payment_not_settleable' },
      message: expect.stringContaining('tells of 800 EUR (minor units) since') as string,
    });
    await tellTaken(order, 1_000);
    await settlePayment(world, order.paymentId, 'accept');
    expect(await read(order)).toMatchObject({ status: 'paid', balance: { held: 0 } });
  });
});
