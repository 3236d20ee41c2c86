import { insertOrders } from '../../../../test/support/insert-orders';
import { Plans } from '../../../../test/support/plans';
import { silentOrdersTelemetry } from '../../../../test/support/silent-telemetry';
import { openWorld, type World } from '../../../../test/support/world';
import { ForceCloseOrder } from '../closing/force-close-order';
import { ForceCloseOrders } from './force-close-orders';

const ORDERS = 3_000;
/** Of each order: it may be read, sorted and left by the limit. */
const MOST_IN_VAIN = 4;

/** The hour of a sale, or a dump that has just been restored: Postgres knows nothing of the tables yet. */
describe('ForceCloseOrders, where nobody has looked at the tables since they grew', () => {
  let world: World;
  let plans: Plans;
  beforeAll(async () => {
    world = await openWorld();
    for (const table of ['orders', 'near_deadlines', 'far_deadlines', 'held_deadlines']) {
      await world.owner.rows(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
    }
    plans = await Plans.of(world);
    await insertOrders(world, { count: ORDERS, closesInMs: 600_000, customerId: 'bulk' });
  });
  afterAll(() => world?.close());

  it.each([
    ['a customer', { customerId: 'bulk' }],
    ['since when', { since: new Date(0) }],
    ['overdue', { overdue: true }],
  ])('looks at each order that waits once, by %s', async (_, filter) => {
    plans.forget();
    const { dataSource, get } = world;
    const closing = new ForceCloseOrders(dataSource, get(ForceCloseOrder), silentOrdersTelemetry);
    await closing.find({ ...filter, limit: 300 });
    const [worst] = plans.waste();
    expect(worst?.inVain).toBeLessThanOrEqual(MOST_IN_VAIN * ORDERS);
  });
});
