import { SweepUnderWayError } from '@app/timeout';
import type { World } from '../../support/world';

const SHARDS = 3;

/** An operator's sweep in shards, to its end, whoever has them. A second one beside it is refused. */
export async function sweepInShards({ timeouts }: World): Promise<void> {
  try {
    await timeouts.shardedSweep.run({ shards: SHARDS });
  } catch (error) {
    if (!(error instanceof SweepUnderWayError)) throw error;
  }
}

/** As a worker does each second. */
export async function takePart({ timeouts: { shardedSweep } }: World): Promise<void> {
  await shardedSweep.look();
  await shardedSweep.takePart();
}

/** What the reports of all sweeps in shards say has to be so. */
export async function findMisreported(world: World): Promise<string[]> {
  const [row] = await world.rows<Record<'changed' | 'closed' | 'overdrawn', number>>(
    `SELECT coalesce(sum(changed), 0)::int AS changed,
            count(*) FILTER (WHERE changed + lost > due)::int AS overdrawn,
            (SELECT count(*)::int FROM order_events
              WHERE by = 'sweep' AND from_status = 'pending_payment') AS closed
       FROM sweep_shards WHERE kind = 'payment'`,
  );
  const { changed = 0, closed = 0, overdrawn = 0 } = row ?? {};
  return [
    ...(changed > closed
      ? [`shards report ${changed} closed, and all sweeps closed ${closed}`]
      : []),
    ...(overdrawn > 0 ? [`${overdrawn} shards report more than they had`] : []),
  ];
}
