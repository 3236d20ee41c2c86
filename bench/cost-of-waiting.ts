import { Queue } from 'bullmq';
import { fillPendingOrders, fillProducts } from './orders-table';
import { startLastcall } from './processes';
import type { Question } from './question';
import { until } from './until';
import { createWorld, type World } from './world';

const COUNTS = [10_000, 100_000, 1_000_000];
const QUICK_COUNTS = [2_000];
/** The customer's window and the grace period: an order waits eleven minutes. */
const WAIT_S = 660;
/** A BullMQ job an order is proportional; a million of them would only take long. */
const MOST_JOBS = 100_000;
const JOBS_AT_ONCE = 1_000;

export const costOfWaiting: Question = {
  name: 'cost-of-waiting',
  asks: 'What does an order cost in Redis and Postgres while it waits?',
  async answer({ servers, quick, say }) {
    const rows = [];
    for (const count of quick ? QUICK_COUNTS : COUNTS) {
      const world = await createWorld(servers);
      try {
        const ours = await costOfOurs(world, count);
        const jobs = Math.min(count, MOST_JOBS);
        const theirs = (await costOfJobs(world, jobs)) / jobs;
        say(`${count} waiting: ${(ours.redis / 2 ** 20).toFixed(1)} MB in Redis`);
        rows.push({ count, ...ours, theirs: theirs * count });
      } finally {
        await world.close();
      }
    }
    const most = Math.max(...rows.map(({ redis }) => redis)) / 2 ** 20;
    const mb = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
    return {
      tables: [
        {
          title: 'Orders that wait, due over eleven minutes',
          columns: [
            'orders',
            'Redis, MB',
            'a BullMQ job each, MB',
            'deadlines in Postgres, bytes an order',
            'everything in Postgres, bytes an order',
          ],
          rows: rows.map((row) => [
            row.count,
            mb(row.redis),
            mb(row.theirs),
            Math.round(row.deadlines / row.count),
            Math.round(row.postgres / row.count),
          ]),
          note: `Redis: used_memory less that of an empty one. The event stream is not in it: it keeps the newest events, however many orders wait. BullMQ is measured up to ${MOST_JOBS.toLocaleString('en-US')} jobs and scaled from there.`,
        },
      ],
      charts: [
        {
          name: 'cost-of-waiting',
          title: 'Memory in Redis while orders wait',
          kind: 'lines',
          xTitle: 'orders that wait',
          yTitle: 'MB',
          logarithmic: true,
          points: rows.flatMap((row) => [
            { series: 'lastcall (slots)', x: row.count, y: row.redis / 2 ** 20 },
            { series: 'a BullMQ job each', x: row.count, y: row.theirs / 2 ** 20 },
          ]),
        },
      ],
      goals: [{ text: 'Redis at most 25 MB', met: most <= 25, measured: `${most.toFixed(1)} MB` }],
    };
  },
};

async function costOfOurs(world: World, count: number) {
  await fillProducts(world);
  const empty = await redisBytes(world);
  await fillPendingOrders(world, { count, dueInS: 60, spreadS: WAIT_S - 60 });
  await world.pool.query('VACUUM ANALYZE');
  const worker = await startLastcall(world, { settings: { ROLES: 'worker' } });
  // Its first sweep arms all there is within the horizon.
  await until('every slot has its alarm', () => isArmed(world));
  const redis = (await redisBytes(world)) - empty;
  await worker.stop();
  const [size] = await world.rows<{ deadlines: string; postgres: string }>(
    `SELECT pg_total_relation_size('near_deadlines') AS deadlines,
            sum(pg_total_relation_size(oid)) AS postgres
       FROM pg_class WHERE relname IN ('near_deadlines', 'orders', 'order_items', 'order_events')`,
  );
  return { redis, deadlines: Number(size?.deadlines), postgres: Number(size?.postgres) };
}

/** An alarm for each tenth of a second in which an order is due. */
async function isArmed(world: World): Promise<boolean> {
  const [slots] = await world.rows<{ n: number }>(
    `SELECT count(DISTINCT ceil(extract(epoch FROM due_at) * 10))::int AS n FROM near_deadlines`,
  );
  const [delayed = ''] = await world.redis.keys('*:delayed');
  return slots !== undefined && slots.n > 0 && (await world.redis.zcard(delayed)) >= slots.n;
}

async function costOfJobs(world: World, count: number): Promise<number> {
  await world.redis.flushall();
  const empty = await redisBytes(world);
  const queue = new Queue('orders', { connection: { url: world.redisUrl } });
  for (let added = 0; added < count; added += JOBS_AT_ONCE) {
    await queue.addBulk(
      Array.from({ length: Math.min(JOBS_AT_ONCE, count - added) }, (_, i) => ({
        name: 'close',
        data: { id: `0199a3c0-7b6e-7c53-9d6c-${String(added + i).padStart(12, '0')}` },
        opts: { delay: WAIT_S * 1_000, removeOnComplete: true },
      })),
    );
  }
  const used = (await redisBytes(world)) - empty;
  await queue.close();
  return used;
}

async function redisBytes({ redis }: World): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}
