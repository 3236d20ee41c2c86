import { moneyOf } from '../../../../test/support/money';
import { openOrder, receive } from '../../../../test/support/paid-order';
import type { Posted } from '../../../../test/support/ledger-provider';
import { settlePayment } from '../../../../test/support/settle-payment';
import { openWorld, type World } from '../../../../test/support/world';
import { EraseCustomer } from './erase-customer';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const { read, refundsOf } = moneyOf(() => world);

type Policy = 'revive' | 'hold';
/** Of a customer, who has paid in time; nothing was told of it. */
async function closedOrder(customerId: string, latePayment: Policy) {
  const placed = await openOrder(world, { customerId, latePayment });
  const paid = world.provider.pay(placed.paymentId, new Date()) as Posted;
  await world.rows(
    `UPDATE orders SET status = 'closed', close_reason = 'payment_timeout', closed_at = now()
      WHERE id = $1`,
    [placed.id],
  );
  await world.rows(`UPDATE payments SET status = 'closed' WHERE id = $1`, [placed.paymentId]);
  return { placed, paid };
}
const erase = (customerId: string) =>
  new EraseCustomer(world.dataSource, world.stream).erase(customerId, {
    ...{ actor: 'olivia', reason: 'request 2026-17' },
  });
const UNPAID = { status: 'closed', balance: { held: 0 } };
const SENT_BACK = [{ reason: 'late_payment', amount: '1000' }];

describe('money in time for an order that has been closed, of which nothing was told', () => {
  it.each([
    ['revives it', 'revive', false, { status: 'paid' }, []],
    ['goes back where its customer has been erased meanwhile', 'revive', true, UNPAID, SENT_BACK],
    ['goes back then also where it waits for an operator', 'hold', true, UNPAID, SENT_BACK],
  ] as const)('%s', async (_, latePayment, isErased, order, refunds) => {
    const customerId = `customer-${latePayment}-${isErased}`;
    const { placed, paid } = await closedOrder(customerId, latePayment);
    if (isErased) await erase(customerId);
    await receive(world, paid);
    expect(await read(placed)).toMatchObject(order);
    expect(await refundsOf(placed)).toMatchObject(refunds);
  });

  it('is not accepted for it where it was on hold as its customer was erased, and can go back', async () => {
    const { placed, paid } = await closedOrder('henry', 'hold');
    await receive(world, paid);
    expect(await read(placed)).toMatchObject({ status: 'closed', balance: { held: 1_000 } });
    await erase('henry');
    await expect(settlePayment(world, placed.paymentId, 'accept')).rejects.toThrow(
      'its customer has been erased, and nobody could have the order: refund or keep it',
    );
    expect(await read(placed)).toMatchObject({ status: 'closed', balance: { held: 1_000 } });
    await settlePayment(world, placed.paymentId, 'refund');
    expect(await refundsOf(placed)).toMatchObject(SENT_BACK);
  });
});
