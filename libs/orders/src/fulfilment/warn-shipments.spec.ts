import { type Payable, paidOrder } from '../../../../test/support/paid-order';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { silentOrdersTelemetry } from '../order/telemetry';
import { Gauges } from '../ops/gauges';
import { WarnShipments } from './warn-shipments';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let world: World;
beforeAll(async () => (world = await openWorld({ waitsForLocks: true })));
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

/** Reading deadlines waits for this key where the application does it, once the statement has its snapshot. */
const GATE = 4711;
const CLOSE_GATE = [
  `CREATE FUNCTION passes_gate() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
   BEGIN PERFORM pg_advisory_xact_lock_shared(${GATE}); RETURN true; END $$`,
  'CREATE POLICY gate ON deadlines USING (passes_gate())',
  'ALTER TABLE deadlines ENABLE ROW LEVEL SECURITY',
];
const OPEN_GATE = [
  'ALTER TABLE deadlines DISABLE ROW LEVEL SECURITY',
  'DROP POLICY gate ON deadlines',
  'DROP FUNCTION passes_gate()',
];

it('tells of an order once, also where another worker has told of it since it was looked for', async () => {
  const order = await paidWithLeft(HOUR_MS, MINUTE_MS);
  const owner = await world.owner.dataSource();
  for (const sql of CLOSE_GATE) await world.owner.rows(sql);
  const gate = await beginHeldOpen(owner);
  await gate.query(`SELECT pg_advisory_xact_lock(${GATE})`);
  const warning = world.get(WarnShipments).runOnce();
  await until('it looks for orders', async () => {
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
                        AND wait_event = 'advisory' AND query LIKE 'SELECT o.id FROM deadlines%'`;
    return (await world.owner.rows(waiting)).length > 0;
  });
  const other = new WarnShipments(owner, silentOrdersTelemetry);
  expect(await other.runOnce()).toEqual({ warned: 1 });
  await gate.rollbackTransaction();
  await gate.release();
  expect(await warning).toEqual({ warned: 0 });
  for (const sql of OPEN_GATE) await world.owner.rows(sql);
  expect(await isTold(order)).toBe(true);
});
