import { NoopLock, RedlockLock } from '@app/timeout';
import type { Lock } from '@app/timeout';
import { cpuBetween, cpuMicrosEach } from './cpu';
import { cpuGoal, type Question } from './question';
import { median } from './statistics';
import { createWorld } from './world';

const BATCH = 500;
const SIZES = [1, BATCH];
const LOCKED = 100_000;

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
        const orders = quick ? size * 4 : size === 1 ? LOCKED / 50 : LOCKED;
        await timePerOrder(lock, size, orders);
        const times = [];
        const cpus = [];
        for (let i = 0; i < rounds; i++) {
          const before = world.cpu([process.pid]);
          const withLock = await timePerOrder(lock, size, orders);
          const between = world.cpu([process.pid]);
          times.push(withLock - (await timePerOrder(new NoopLock(), size, orders)));
          const none = cpuBetween(between, world.cpu([process.pid]));
          cpus.push(cpuMicrosEach(cpuBetween(none, cpuBetween(before, between)), orders));
        }
        rows.push({ size, us: median(times), cpu: median(cpus) });
      }
      const batched = rows.find(({ size }) => size === BATCH)?.cpu ?? Infinity;
      return {
        tables: [
          {
            title: 'Taking and giving back the locks of a batch, one after the other',
            columns: ['orders in a call', 'us an order', 'CPU us an order'],
            rows: rows.map(({ size, us, cpu }) => [size, us, cpu]),
            note: 'Less that of a lock that does nothing, in turns: Node, the round trips and Redis together.',
          },
        ],
        goals: [cpuGoal('Redlock of an order in a batch of 500', batched, 3)],
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
