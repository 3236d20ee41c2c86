import { moneyOf } from '../../../../test/support/money';
import { openOrder, receive } from '../../../../test/support/paid-order';
import type { Posted } from '../../../../test/support/ledger-provider';
import { openWorld, type World } from '../../../../test/support/world';
import { EraseCustomer } from './erase-customer';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const { read, refundsOf } = moneyOf(() => world);

describe('money in time for an order that has been closed, of which nothing was told', () => {
  it.each([
    ['revives it', false, { status: 'paid' }, []],
    [
      'goes back where its customer has been erased meanwhile',
      true,
      { status: 'closed' },
      [{ reason: 'late_payment', amount: '1000' }],
    ],
  ] as const)('%s', async (_, isErased, order, refunds) => {
    const customerId = `customer-${isErased}`;
    const placed = await openOrder(world, { customerId, latePayment: 'revive' });
    const paid = world.provider.pay(placed.paymentId, new Date()) as Posted;
    await world.rows(
      `UPDATE orders SET status = 'closed', close_reason = 'payment_timeout', closed_at = now()
        WHERE id = $1`,
      [placed.id],
    );
    await world.rows(`UPDATE payments SET status = 'closed' WHERE id = $1`, [placed.paymentId]);
    if (isErased) {
      const erasing = new EraseCustomer(world.dataSource, world.stream);
      await erasing.erase(customerId, { actor: 'olivia', reason: 'request 2026-17' });
    }
    await receive(world, paid);
    expect(await read(placed)).toMatchObject(order);
    expect(await refundsOf(placed)).toMatchObject(refunds);
  });
});
