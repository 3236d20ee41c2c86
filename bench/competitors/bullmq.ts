import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Redlock } from 'redlock';
import { closeOne } from './close-orders';
import { chunksOf, compete } from './competitor';

/** Between 100 and 300 for work that waits for I/O, says its guide; more gained nothing here. */
const CONCURRENCY = 100;
const LOCK_TTL_MS = 10_000;

/** One delayed job an order, as tutorials have it: a lock and a transaction each. */
compete(async ({ redisUrl, pool, orders }) => {
  const connection = (): Redis => new Redis(redisUrl, { maxRetriesPerRequest: null });
  const queue = new Queue('orders', { connection: connection() });
  const redlock = new Redlock([connection()], { retryCount: 3 });
  for (const chunk of chunksOf(await orders(), 1_000)) {
    await queue.addBulk(
      chunk.map(({ id, closesAt }) => ({
        name: 'close',
        data: { id },
        opts: {
          jobId: id,
          delay: Math.max(0, closesAt.getTime() - Date.now()),
          removeOnComplete: true,
        },
      })),
    );
  }
  const worker = new Worker<{ id: string }>(
    'orders',
    async ({ data: { id } }) => {
      const lock = await redlock.acquire([`lock:order:${id}`], LOCK_TTL_MS);
      try {
        await closeOne(pool, id);
      } finally {
        await redlock.release(lock);
      }
    },
    { connection: connection(), concurrency: CONCURRENCY },
  );
  await worker.waitUntilReady();
});
