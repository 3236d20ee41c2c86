import type { World } from '../../support/world';
import type { FakeTime } from '../fake-time';
import type { StoredAlarms } from './alarm-store';
import type { CrowdAction, CrowdProgram } from './crowd-program';

const TICK_MS = 100;
const TICKS = 40;
/** Nobody has noticed a bug's end for as long as probes are apart. */
const TICKS_TO_PROBE = 100;
/** A worker looks often for what nobody is at, */
const LOOK_EVERY_TICKS = 3;
/** and each second for a sweep in shards. */
const TAKE_PART_EVERY_TICKS = 10;
/** By rings alone: a slot, a wait for a lock, and the time it takes. */
const LATE_BY_RINGS_MS = 1_500;
/** Where alarms were lost, or those who would have armed some: found by a look, then closed. */
const LATE_AT_ALL_MS = 1_000;

/**
 * Four seconds of an ordinary life after the program, with one worker left: rings as they come, and
 * its looks where something was lost. Where a handler had a bug, a probe comes first, ten seconds later
 * at the most. Says which orders are late by then.
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
  const has = (...whats: CrowdAction['do'][]): boolean =>
    program.actions.some(({ do: what }) => whats.includes(what));
  const isSharded = has('sweep in shards');
  // A run leaves what nobody is at any more, and what somebody held, to who looks.
  const hasLost = isSharded || has('lose alarms', 'crash');
  const limitMs = hasLost ? LATE_AT_ALL_MS : LATE_BY_RINGS_MS;
  const failed: unknown[] = [];
  let part: Promise<void> | undefined;
  let late: string[] = [];
  // As it does before it claims anything.
  await timeouts.shardedSweep.look();
  for (let tick = 1; tick <= TICKS + TICKS_TO_PROBE; tick++) {
    time.pass(TICK_MS);
    time.fireDue();
    await timeouts.alarms.settled();
    if (isSharded && tick % TAKE_PART_EVERY_TICKS === 0) {
      await timeouts.shardedSweep.look();
      part ??= timeouts.shardedSweep
        .takePart()
        .catch((error: unknown) => void failed.push(error))
        .finally(() => (part = undefined));
    }
    await alarms.ringDue(time.nowMs);
    if (hasLost && tick % LOOK_EVERY_TICKS === 0 && (await timeouts.sweep.takeMissed())) {
      const { drained } = await timeouts.sweep.begin();
      await drained;
    }
    await Promise.all(alive.map((one) => one.timeouts.idle()));
    if (tick < TICKS) continue;
    late = await ordersOpen(world, time.nowMs, limitMs);
    if (late.length === 0 || !has('release a bug')) break;
  }
  return [...failed.map((error) => `a part failed: ${String(error)}`), ...late];
}

/** In words, where some are late by more than that. */
async function ordersOpen(world: World, nowMs: number, limitMs: number): Promise<string[]> {
  const [row] = await world.rows<{ n: number; oldest: Date | null }>(
    `SELECT count(*)::int AS n, min(closes_at) AS oldest FROM orders
      WHERE status = 'pending_payment' AND closes_at < $1`,
    [new Date(nowMs - limitMs)],
  );
  if (!row?.oldest) return [];
  const lateMs = nowMs - row.oldest.getTime();
  return [`${row.n} orders are still open, ${lateMs} ms late, although a worker lives and rings`];
}
