import { insertOrders } from '../../../../test/support/insert-orders';
import type { Posted } from '../../../../test/support/ledger-provider';
import { type Payable, receive } from '../../../../test/support/paid-order';
import { Plans } from '../../../../test/support/plans';
import { openWorld, type World } from '../../../../test/support/world';

/** Of payments that are settled: a shop's first weeks. */
const MOVEMENTS = 50_000;
const MOST_IN_VAIN = 20;

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await world.rows(
    `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
     SELECT gen_random_uuid(), gen_random_uuid(), 'captured', 'old', 500, 'EUR', 'webhook'
       FROM generate_series(1, $1::int)`,
    [MOVEMENTS],
  );
  await world.rows('ANALYZE');
});
afterAll(() => world?.close());

it('sends late money back without reckoning the balance of every payment', async () => {
  const plans = await Plans.of(world);
  const [late] = await insertOrders(world, { count: 1, closesInMs: -1_000, payment: 'failed' });
  const { paymentId, amount } = late as Payable;
  await world.timeouts.runSweep();
  world.provider.open({ paymentId, amount, currency: 'EUR' });
  await receive(world, world.provider.pay(paymentId, new Date()) as Posted);
  await world.timeouts.runSweep();
  expect(await world.rows('SELECT status FROM refunds')).toEqual([{ status: 'succeeded' }]);
  expect(plans.waste().filter(({ inVain }) => inVain > MOST_IN_VAIN)).toEqual([]);
});
