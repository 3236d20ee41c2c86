import type { World } from '../../support/world';
import type { FakeTime } from '../instrument';
import type { StoredAlarms } from './alarm-store';
import type { CrowdProgram } from './crowd-program';

const TICK_MS = 100;
const TICKS = 40;
/** A worker looks often for what nobody is at. */
const LOOK_EVERY_TICKS = 3;
/** By rings alone: a slot, a wait for a lock, and the time it takes. */
const LATE_BY_RINGS_MS = 1_500;
/** Where alarms were lost, or those who would have armed some: found by a look, then closed. */
const LATE_AT_ALL_MS = 1_000;

/**
 * Four seconds of an ordinary life after the program, with one worker left: rings as they come, and
 * its looks where something was lost. Says which orders are late by then.
 */
export async function findLate({
  world,
  alarms,
  time,
  program,
  alive,
}: {
  readonly world: World;
  readonly alarms: StoredAlarms;
  readonly time: FakeTime;
  readonly program: CrowdProgram;
  /** All that still live: they ring no more, and end what they have begun or look at again. */
  readonly alive: readonly World[];
}): Promise<string[]> {
  const { timeouts } = world;
  const hasLost = program.actions.some(
    ({ do: what }) => what === 'lose alarms' || what === 'crash',
  );
  for (let tick = 1; tick <= TICKS; tick++) {
    time.nowMs += TICK_MS;
    await timeouts.alarms.settled();
    await alarms.ringDue(time.nowMs);
    if (hasLost && tick % LOOK_EVERY_TICKS === 0 && (await timeouts.sweep.takeMissed())) {
      const { drained } = await timeouts.sweep.begin();
      await drained;
    }
    await Promise.all(alive.map((one) => one.timeouts.idle()));
  }
  const limitMs = hasLost ? LATE_AT_ALL_MS : LATE_BY_RINGS_MS;
  const [row] = await world.rows<{ n: number; oldest: Date | null }>(
    `SELECT count(*)::int AS n, min(closes_at) AS oldest FROM orders
      WHERE status = 'pending_payment' AND closes_at < $1`,
    [new Date(time.nowMs - limitMs)],
  );
  if (!row?.oldest) return [];
  const lateMs = time.nowMs - row.oldest.getTime();
  return [`${row.n} orders are still open, ${lateMs} ms late, although a worker lives and rings`];
}
