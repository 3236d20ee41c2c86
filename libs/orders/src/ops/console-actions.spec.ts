import { brokenInvariants, moneyOf } from '../../../../test/support/money';
import { closeUnanswered, openOrder } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { CancelOrderByOperator } from './cancel-order-by-operator';
import { type ConsoleAction, ConsoleActions } from './console-actions';
import { DismissWebhook } from './dismiss-webhook';
import { FinishRefund } from './finish-refund';
import { ForceCloseOrders } from './force-close-orders';
import { SettlePayment } from './held-payments';
import { RetryRefund } from './refunds';
import { ReleaseDeadlines } from './release-deadlines';
import { TimeoutBrake } from './timeout-brake';
import { ReplayWebhook } from './webhooks';

const OLGA = { actor: 'olga', reason: 'case 9' };
/** What it does its work by, beside the storefront's. */
const OPERATING = [
  ...[ConsoleActions, DismissWebhook, FinishRefund, ForceCloseOrders, ReleaseDeadlines],
  ...[ReplayWebhook, RetryRefund, SettlePayment, TimeoutBrake],
];
let world: World;
beforeAll(async () => (world = await openWorld({ provides: OPERATING })));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const { paid, placed, tell, refunded, refundsOf } = moneyOf(() => world);
const press = async (action: ConsoleAction, id: string, dryRun = false) =>
  (await world.get(ConsoleActions).run(action, [id], { ...OLGA, dryRun }))[0]?.says;

/** Money that does not fit, of which this much has gone back by hand. */
async function onHold(gone: number): Promise<string> {
  const order = await placed();
  const money = { amount: 900, currency: 'EUR', paidAt: new Date() };
  await tell(order, 'payment.succeeded', { money });
  if (gone > 0) await refunded(order, gone, `re-${order.id}`);
  return order.paymentId;
}

describe('the console says what became of', () => {
  it.each([
    [0, 'on its way back to the buyer'],
    [400, 'on its way back to the buyer'],
    [900, 'off hold: nothing of it was left to go back'],
  ])('money on hold of 900, of which %i had gone back', async (gone, says) => {
    const id = await onHold(gone);
    expect(await press('refund_money', id, true)).toBe(says);
    expect(await press('refund_money', id)).toBe(says);
  });

  it('a refund of which others have taken a part, by the amount that was sent', async () => {
    const order = await paid();
    await world.get(CancelOrderByOperator).cancel(order.id, OLGA);
    await refunded(order, 600);
    const id = (await refundsOf(order))[0]?.id as string;
    const finish = async (amount?: number, dryRun = false) =>
      (await world.get(ConsoleActions).run('finish_refund', [id], { ...OLGA, amount, dryRun }))[0];
    for (const amount of [undefined, 399, 1_000]) {
      const says = expect.stringContaining('400 of 1000 EUR') as string;
      expect(await finish(amount)).toMatchObject({ isDone: false, says });
    }
    const says = 'over: 400 of it was sent by hand, in minor units, and nothing is sent any more';
    expect(await finish(400, true)).toMatchObject({ isDone: true, says });
    expect(await finish(400)).toMatchObject({ isDone: true, says });
    expect(await refundsOf(order)).toMatchObject([
      { id, status: 'canceled' },
      { status: 'succeeded', amount: '400' },
    ]);
  });

  it('money that is corrected, by the amount', async () => {
    const order = await paid();
    const money = { amount: 800, currency: 'EUR', paidAt: new Date() };
    await tell(order, 'payment.succeeded', { money });
    for (const dryRun of [true, false]) {
      expect(await press('correct_money', order.paymentId, dryRun)).toBe(
        'taken: 800 EUR instead of 1000, in minor units',
      );
    }
  });

  it('an order that is settled as paid, and that nothing paid', async () => {
    const paid = await openOrder(world);
    const gone = await openOrder(world);
    for (const { id } of [paid, gone]) await closeUnanswered(world, id, OLGA);
    await refunded(gone, 1_000, 're-all');
    for (const dryRun of [true, false]) {
      expect(await press('settle_paid', paid.id, dryRun)).toBe('paid');
      expect(await press('settle_paid', gone.id, dryRun)).toBe('canceled');
    }
  });
});
