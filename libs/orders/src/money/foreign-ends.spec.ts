import { brokenInvariants, moneyOf } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const { paid, tell, refunded, disputed, read } = moneyOf(() => world);

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
});
