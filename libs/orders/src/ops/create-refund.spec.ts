import { brokenInvariants, paidOrder } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { CreateRefund } from './create-refund';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

it('sends back all that an order holds, and not one minor unit more', async () => {
  const { id, paymentId } = await paidOrder(world);
  const refund = (amount: number) => world.get(CreateRefund).create(id, { ...OLGA, amount });
  await refund(400);
  await expect(refund(601)).rejects.toMatchObject({
    code: 'refund_exceeds_balance',
    message: '601 is more than this order still holds: at most 600 can be refunded',
    fields: { refundable: 600 },
  });
  expect((await refund(600)).order.status).toBe('canceled');
  await expect(refund(1)).rejects.toMatchObject({ fields: { refundable: 0 } });
  expect(
    await world.rows('SELECT amount FROM refunds WHERE payment_id = $1 ORDER BY id', [paymentId]),
  ).toEqual([{ amount: '400' }, { amount: '600' }]);
  expect(await brokenInvariants(world)).toEqual([]);
});
