import { TimeoutBrake } from '../../../libs/orders/src/ops/timeout-brake';
import type { World } from '../../support/world';
import { OPERATOR } from './crowd-actors';

/**
 * What became of orders that are due only because somebody set the database's clock: of these one
 * batch may be closed, before an operator has looked. Then one confirms, and timeouts go on.
 */
export async function endOfJump(
  world: World,
  jumpedFromMs: number | undefined,
  batch: number,
): Promise<string[]> {
  // Where nobody has rung since, a sweep is the first to see the clock.
  await world.timeouts.runSweep();
  const [row] = await world.rows<{ n: number }>(
    `SELECT count(*)::int AS n FROM orders
      WHERE status = 'closed' AND close_reason = 'payment_timeout' AND closes_at > $1`,
    [new Date(jumpedFromMs ?? 8.64e15)],
  );
  const brake = new TimeoutBrake(world.dataSource);
  if (await brake.read()) await brake.release(OPERATOR);
  await world.timeouts.runSweep();
  const closed = row?.n ?? 0;
  return closed > batch ? [`${closed} orders closed that only a jump of the clock made due`] : [];
}
