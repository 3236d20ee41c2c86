import { moneyOf } from '../../../../test/support/money';
import { closedUnheard, receive } from '../../../../test/support/paid-order';
import { settlePayment } from '../../../../test/support/settle-payment';
import { openWorld, type World } from '../../../../test/support/world';
import { EraseCustomer } from './erase-customer';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const { read, refundsOf } = moneyOf(() => world);

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
    const { order: placed, paid } = await closedUnheard(world, { customerId, latePayment });
    if (isErased) await erase(customerId);
    await receive(world, paid);
    expect(await read(placed)).toMatchObject(order);
    expect(await refundsOf(placed)).toMatchObject(refunds);
  });

  it('is not accepted for it where it was on hold as its customer was erased, and can go back', async () => {
    const { order: placed, paid } = await closedUnheard(world, {
      customerId: 'henry',
      latePayment: 'hold',
    });
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
