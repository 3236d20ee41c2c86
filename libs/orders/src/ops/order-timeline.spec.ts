import { moneyOf, type Placed } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';
import { readOrderDetails } from './read-order-details';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
const { paid } = moneyOf(() => world);

describe('the timeline of an order', () => {
  it('tells its events as they happened, also one that had begun before it waited its turn', async () => {
    const { id } = await paid();
    await world.get(ShipOrder).ship(id, 'mia');
    await world.owner.rows(
      `UPDATE order_events SET at = at - interval '30 seconds' WHERE order_id = $1 AND version = 3`,
      [id],
    );
    const { timeline, history } = await readOrderDetails(world, async () => undefined, id);
    expect(history.map(({ type }) => type)).toEqual([
      'order.placed',
      'order.paid',
      'order.shipped',
    ]);
    const events = timeline.filter(({ kind }) => kind === 'order');
    expect(events.map(({ what }) => what)).toEqual(history.map(({ type }) => type));
    const instants = timeline.map(({ at }) => at);
    expect(instants).toEqual([...instants].sort());
  });

  it('tells nothing of other orders', async () => {
    const told = async (order: Placed) => {
      const { timeline } = await readOrderDetails(world, async () => undefined, order.id);
      return timeline.filter(({ kind }) => kind === 'webhook' || kind === 'money');
    };
    const [one, other] = [await paid(), await paid()];
    for (const order of [one, other]) {
      expect((await told(order)).map(({ what }) => what).sort()).toEqual([
        ...['money.captured', 'webhook.payment.succeeded'],
      ]);
    }
  });
});
