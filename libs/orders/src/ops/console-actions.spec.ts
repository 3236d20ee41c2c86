import { brokenInvariants, moneyOf } from '../../../../test/support/money';
import { closeUnanswered, openOrder } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
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

const { placed, tell, refunded } = moneyOf(() => world);
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
