import { NoopLock, RedlockLock } from '@app/timeout';
import type { Lock } from '@app/timeout';
import type { Question } from './question';
import { median } from './statistics';
import { createWorld } from './world';

const BATCH = 500;
const SIZES = [1, BATCH];
const LOCKED = 20_000;

export const guard: Question = {
  name: 'guard',
  asks: 'What does the lock cost an order, alone and in a batch?',
  async answer({ servers, rounds, quick }) {
    const world = await createWorld(servers);
    const onError = (error: Error): void => {
      throw error;
    };
    const lock = new RedlockLock({ redis: servers.redisUrl, onError });
    try {
      const rows = [];
      for (const size of SIZES) {
        const orders = quick ? size * 4 : size === 1 ? LOCKED / 10 : LOCKED;
        await timePerOrder(lock, size, orders);
        const times = [];
        for (let i = 0; i < rounds; i++) times.push(await timePerOrder(lock, size, orders));
        const none = await timePerOrder(new NoopLock(), size, orders);
        rows.push({ size, us: median(times) - none });
      }
      const batched = rows.find(({ size }) => size === BATCH)?.us ?? Infinity;
      return {
        tables: [
          {
            title: 'Taking and giving back the locks of a batch, one after the other',
            columns: ['orders in a call', 'us an order'],
            rows: rows.map(({ size, us }) => [size, us]),
            note: 'Wall-clock time less that of a lock that does nothing: Node, the round trips and Redis together.',
          },
        ],
        goals: [
          {
            text: 'at most 5 us an order in a batch',
            met: batched <= 5,
            measured: `${batched.toFixed(1)} us`,
          },
        ],
      };
    } finally {
      await lock.close();
      await world.close();
    }
  },
};

async function timePerOrder(lock: Lock, size: number, orders: number): Promise<number> {
  const batches = Array.from({ length: orders / size }, (_, batch) =>
    Array.from({ length: size }, (_, i) => `lock:order:0199a3c0-7b6e-7c53-9d6c-${batch}-${i}`),
  );
  const startedMs = performance.now();
  for (const keys of batches) {
    const held = await lock.acquireFree(keys);
    if (held.outcome !== 'held') throw new Error(`The lock was ${held.outcome}`);
    await held.release();
  }
  return (1_000 * (performance.now() - startedMs)) / orders;
}
