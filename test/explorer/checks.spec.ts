import { ReceiveWebhook } from '@app/orders';
import { FoldStock } from '../../libs/orders/src/stock/fold-stock';
import { SettleClosing } from '../../libs/orders/src/closing/settle-closing';
import { insertOrders } from '../support/insert-orders';
import type { Posted } from '../support/ledger-provider';
import { openWorld, type World } from '../support/world';
import { isQuiet } from './checks';

describe('what a program has left behind', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());

  it('is not quiet while another payment of a canceled order is open', async () => {
    const { provider } = world;
    const given = { count: 1, closesInMs: 60_000, payment: 'open' } as const;
    const [order] = await insertOrders(world, given);
    const [id, paymentId] = [order?.id as string, order?.paymentId as string];
    const [other] = await world.rows<{ id: string }>(
      `INSERT INTO payments (id, order_id, provider, provider_payment_id, amount, currency, expires_at)
       SELECT n.id, o.id, 'sandbox', 'pay-' || n.id, o.amount, o.currency, o.closes_at
         FROM orders o, (SELECT gen_random_uuid() AS id) AS n WHERE o.id = $1 RETURNING id`,
      [id],
    );
    const ref = { amount: order?.amount as number, currency: 'EUR' };
    const entry = provider.open({ paymentId, ...ref });
    provider.open({ paymentId: other?.id as string, ...ref });
    const deliver = async (posted: Posted | undefined): Promise<void> => {
      const { body, headers } = posted as Posted;
      await world.get(ReceiveWebhook).receive('sandbox', body, headers);
    };
    // Its provider, asked to end the other one, gives no answer that anybody hears.
    provider.unreachable = 'after';
    await deliver(provider.pay(paymentId, new Date()));
    await deliver(provider.refundedByHand(entry, entry.amount));
    await world.get(SettleClosing).settle(id);
    await world.get(FoldStock).runOnce();
    expect(await world.rows('SELECT status FROM orders')).toEqual([{ status: 'canceled' }]);
    expect(await isQuiet(world)).toBe(false);
    provider.unreachable = undefined;
    await world.get(SettleClosing).settle(id);
    expect(await isQuiet(world)).toBe(true);
  });
});
