import { Redis } from 'ioredis';
import { assert, type Fault, type Scene, slowness } from './fault';

/** What the table promises while Redis is in trouble. */
const ACCEPTED_WITHIN_MS = 3_000;

export const REDIS_FAULTS: readonly Fault[] = [
  {
    area: 'Redis',
    name: 'silent for a minute, connections open',
    quick: true,
    play: (scene) =>
      outage(scene, {
        begin: () => scene.stage.redis.pause(),
        last: () => scene.lasting(60_000, 7_000),
        end: () => scene.stage.redis.resume(),
      }),
  },
  {
    area: 'Redis',
    name: '500 ms of latency in each direction',
    play: (scene) =>
      outage(scene, {
        begin: () => scene.stage.redis.delay(500),
        last: () => scene.lasting(15_000, 6_000),
        end: () => scene.stage.redis.delay(0),
      }),
  },
  {
    area: 'Redis',
    name: 'every connection reset twice a second',
    play: async (scene) => {
      const timer = setInterval(() => scene.stage.redis.reset(), 500);
      return outage(scene, {
        begin: () => scene.stage.redis.reset(),
        last: () => scene.lasting(15_000, 5_000),
        end: () => clearInterval(timer),
      }).finally(() => clearInterval(timer));
    },
  },
  {
    area: 'Redis',
    name: 'killed and started again, empty',
    play: (scene) =>
      outage(scene, {
        begin: () => scene.stage.crashRedis(),
        last: () => scene.lasting(5_000, 3_000),
        end: () => scene.stage.startRedis(),
      }),
  },
  {
    area: 'Redis',
    name: 'FLUSHALL',
    quick: true,
    play: (scene) =>
      outage(scene, {
        begin: () => command(scene, (redis) => redis.flushall()),
        last: () => scene.lasting(2_000, 500),
        end: () => undefined,
      }),
  },
  {
    area: 'Redis',
    name: 'maxmemory reached, every write refused',
    play: (scene) =>
      outage(scene, {
        begin: () => command(scene, (redis) => redis.config('SET', 'maxmemory', '1')),
        last: () => scene.lasting(15_000, 5_000),
        end: () => command(scene, (redis) => redis.config('SET', 'maxmemory', '0')),
      }),
  },
  {
    area: 'Redis',
    name: 'gone for good, then replaced by an empty one',
    play: (scene) =>
      outage(scene, {
        begin: async () => {
          await scene.stage.redis.refuse();
          await scene.stage.crashRedis();
        },
        last: () => scene.lasting(20_000, 6_000),
        end: async () => {
          await scene.stage.startRedis();
          await scene.stage.redis.restore();
        },
      }),
  },
];

/** Orders are accepted in time, the sweep closes all, and alarms come back by themselves. */
async function outage(
  scene: Scene,
  fault: {
    readonly begin: () => unknown;
    readonly last: () => Promise<void>;
    readonly end: () => unknown;
  },
): Promise<string> {
  const struckAt = await scene.now();
  await fault.begin();
  await fault.last();
  const closed = await scene.closedBy(struckAt);
  const [late] = await scene.stage.rows<{ lag: string | null }>(
    `SELECT max(extract(epoch FROM closed_at - closes_at)) AS lag FROM orders
      WHERE closed_at >= $1 AND close_reason = 'payment_timeout'`,
    [struckAt],
  );
  await scene.heal(async () => fault.end());
  const { slowestAcceptedMs, refused } = scene.load.experience;
  await scene.alarmsAreBack();
  assert(
    slowestAcceptedMs <= ACCEPTED_WITHIN_MS * slowness(),
    `an answer took ${slowestAcceptedMs} ms`,
  );
  // Where many want each core, a lock may be waited for in vain: that is not Redis's doing.
  assert(
    refused === 0 || slowness() > 2,
    `${refused} calls were refused while only Redis was away`,
  );
  const { timer = 0, sweep = 0 } = closed;
  const lag = Number(late?.lag ?? 0).toFixed(1);
  return `meanwhile closed by alarm ${timer}, by sweep ${sweep}, at most ${lag} s late; alarms came back`;
}

async function command(scene: Scene, act: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(scene.stage.redisUrl, { maxRetriesPerRequest: 1 });
  try {
    await act(redis);
  } finally {
    redis.disconnect();
  }
}
