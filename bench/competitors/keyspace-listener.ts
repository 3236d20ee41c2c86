import { Redis } from 'ioredis';
import { closeOne } from './close-orders';
import { chunksOf, compete } from './competitor';

const KEY = 'order:';

/** A key an order that expires, and a listener of what has expired, as articles have it. */
compete(async ({ redisUrl, pool, orders }) => {
  const [client, listener] = [new Redis(redisUrl), new Redis(redisUrl)];
  for (const one of [client, listener]) one.on('error', () => undefined);
  await client.config('SET', 'notify-keyspace-events', 'Ex');
  await listener.psubscribe('__keyevent@*__:expired');
  listener.on('pmessage', (_, __, key: string) => {
    if (key.startsWith(KEY)) void closeOne(pool, key.slice(KEY.length));
  });
  for (const chunk of chunksOf(await orders(), 1_000)) {
    const pipeline = client.pipeline();
    for (const { id, closesAt } of chunk) {
      pipeline.set(KEY + id, '', 'PX', Math.max(1, closesAt.getTime() - Date.now()));
    }
    await pipeline.exec();
  }
});
