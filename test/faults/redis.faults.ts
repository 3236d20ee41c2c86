import { AwakeTime } from '../../libs/timeout/src/testing/awake-time';
import { Redis } from 'ioredis';
import { assert, type Fault, type Step } from './fault';
import { slowness } from '../support/slowness';

/** What the table promises while Redis is in trouble. */
const ACCEPTED_WITHIN_MS = 3_000;
/** What docs/operations.md says of Redis being away. */
const LATE_AT_MOST_S = 2;

export const REDIS_FAULTS: readonly Fault[] = [
  {
    area: 'Redis',
    name: 'silent for a minute, connections open',
    quick: true,
    run: (step) =>
      outage(step, {
        begin: () => step.rig.redis.pause(),
        last: () => step.lasting(60_000, 7_000),
        end: () => step.rig.redis.resume(),
      }),
  },
  {
    area: 'Redis',
    name: '500 ms of latency in each direction',
    run: (step) =>
      outage(step, {
        begin: () => step.rig.redis.delay(500),
        last: () => step.lasting(15_000, 6_000),
        end: () => step.rig.redis.delay(0),
      }),
  },
  {
    area: 'Redis',
    name: 'every connection reset twice a second',
    run: async (step) => {
      const timer = setInterval(() => step.rig.redis.reset(), 500);
      return outage(step, {
        begin: () => step.rig.redis.reset(),
        last: () => step.lasting(15_000, 5_000),
        end: () => clearInterval(timer),
      }).finally(() => clearInterval(timer));
    },
  },
  {
    area: 'Redis',
    name: 'killed and started again, empty',
    run: (step) =>
      outage(step, {
        begin: () => step.rig.crashRedis(),
        last: () => step.lasting(5_000, 3_000),
        end: () => step.rig.startRedis(),
      }),
  },
  {
    area: 'Redis',
    name: 'FLUSHALL',
    quick: true,
    run: (step) =>
      outage(step, {
        begin: () => command(step, (redis) => redis.flushall()),
        last: () => step.lasting(2_000, 500),
        end: () => undefined,
      }),
  },
  {
    area: 'Redis',
    name: 'maxmemory reached, every write refused',
    run: (step) =>
      outage(step, {
        begin: () => command(step, (redis) => redis.config('SET', 'maxmemory', '1')),
        last: () => step.lasting(15_000, 5_000),
        end: () => command(step, (redis) => redis.config('SET', 'maxmemory', '0')),
      }),
  },
  {
    area: 'Redis',
    name: 'gone for good, then replaced by an empty one',
    run: (step) =>
      outage(step, {
        begin: async () => {
          await step.rig.redis.refuse();
          await step.rig.crashRedis();
        },
        last: () => step.lasting(20_000, 6_000),
        end: async () => {
          await step.rig.startRedis();
          await step.rig.redis.restore();
        },
      }),
  },
];

/** Orders are accepted in time, the sweep closes all, and alarms come back by themselves. */
export async function outage(
  step: Step,
  fault: {
    readonly begin: () => unknown;
    readonly last: () => Promise<void>;
    readonly end: () => unknown;
  },
): Promise<string> {
  const struckAt = await step.now();
  // What this machine stands still is nobody's doing here.
  const [awake, struckMs] = [new AwakeTime(), performance.now()];
  await fault.begin();
  await fault.last();
  const closed = await step.closedBy(struckAt);
  const { mostS } = await step.lateness(struckAt);
  const [open] = await step.rig.rows<{ n: number; s: number }>(
    `SELECT count(*)::int AS n, coalesce(extract(epoch FROM max(clock_timestamp() - closes_at)), 0)::float AS s
       FROM orders WHERE status = 'pending_payment' AND closes_at < clock_timestamp()`,
  );
  await step.heal(async () => fault.end());
  const { slowestAcceptedMs, refused } = step.client.experience;
  await step.alarmsAreBack();
  const asleepMs = performance.now() - struckMs - awake.nowMs;
  awake.stop();
  assert(
    slowestAcceptedMs <= ACCEPTED_WITHIN_MS * slowness() + asleepMs,
    `an answer took ${slowestAcceptedMs} ms`,
  );
  // Where many want each core, a lock may be waited for in vain: that is not Redis's doing.
  assert(
    refused === 0 || slowness() > 2 || asleepMs > 1_000,
    `${refused} calls were refused while only Redis was away`,
  );
  const { timer = 0, sweep = 0 } = closed;
  const seen = `meanwhile closed by alarm ${timer}, by sweep ${sweep}, at most ${mostS.toFixed(1)} s late; alarms came back`;
  const allowedS = LATE_AT_MOST_S * slowness() + asleepMs / 1_000;
  assert(mostS <= allowedS, seen);
  assert((open?.s ?? 0) <= allowedS, `${open?.n} are open still, ${open?.s} s late; ${seen}`);
  return seen;
}

async function command(step: Step, act: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(step.rig.redisUrl, { maxRetriesPerRequest: 1 });
  try {
    await act(redis);
  } finally {
    redis.disconnect();
  }
}
