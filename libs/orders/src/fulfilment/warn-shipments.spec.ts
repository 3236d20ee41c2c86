import { type Payable, paidOrder } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { Gauges } from '../ops/gauges';
import { WarnShipments } from './warn-shipments';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

/** An order that was paid so long ago that so much of its time is left. */
async function paidWithLeft(shipWithinMs: number, leftMs: number): Promise<Payable> {
  const order = await paidOrder(world, { shipWithinMs });
  await world.rows(
    `WITH moved AS (UPDATE orders SET paid_at = paid_at - $2 * interval '1 ms' WHERE id = $1)
     UPDATE deadlines SET due_at = due_at - $2 * interval '1 ms' WHERE subject_id = $1`,
    [order.id, shipWithinMs - leftMs],
  );
  return order;
}

const isTold = async ({ id }: Payable): Promise<boolean> => {
  const [row] = await world.rows<{ told: boolean }>(
    `SELECT count(*) = 1 AS told FROM order_events
      WHERE order_id = $1 AND type = 'order.shipment_due'`,
    [id],
  );
  return row?.told ?? false;
};

it.each([
  ['5m', 5 * MINUTE_MS, 2.5 * MINUTE_MS],
  ['30m', 30 * MINUTE_MS, 15 * MINUTE_MS],
  ['1h', HOUR_MS, 20 * MINUTE_MS],
  ['10h', 10 * HOUR_MS, HOUR_MS],
  ['90d', 90 * 24 * HOUR_MS, 72 * HOUR_MS],
])(
  'tells of an order that has to be shipped within %s long enough before its money goes back',
  async (_, shipWithinMs, aheadMs) => {
    const near = await paidWithLeft(shipWithinMs, aheadMs - MINUTE_MS / 2);
    const far = await paidWithLeft(shipWithinMs, aheadMs + MINUTE_MS / 2);
    expect((await world.get(Gauges).read()).automaticRefundsAhead).toBe(1);
    expect(await world.get(WarnShipments).runOnce()).toEqual({ warned: 1 });
    expect([await isTold(near), await isTold(far)]).toEqual([true, false]);
    await world.rows(`DELETE FROM deadlines WHERE subject_id = ANY ($1)`, [[near.id, far.id]]);
  },
);
