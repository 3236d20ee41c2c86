import { type Held, NoopLock, RedlockLock, Uuids } from '@app/timeout';
import { cpuBetween, cpuMicrosEach } from './cpu';
import { cpuGoal, type Question } from './question';
import { median } from './statistics';
import { createWorld, type World } from './world';

const BATCH = 500;
const SIZES = [1, BATCH];
const PREFIX = 'lock:order:';
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
    const redlock: Take = (ids) => lock.acquireFreeOf(PREFIX, ids);
    const noop = new NoopLock();
    const noLock: Take = () => noop.acquireFree([]);
    try {
      const rows = [];
      for (const size of SIZES) {
        const orders = quick ? size * 4 : size === 1 ? LOCKED / 50 : LOCKED;
        const batches = await sentBatches(world, size, orders);
        await timePerOrder(redlock, batches);
        const times = [];
        const cpus = [];
        for (let i = 0; i < rounds; i++) {
          const before = world.cpu([process.pid]);
          const withLock = await timePerOrder(redlock, batches);
          const between = world.cpu([process.pid]);
          times.push(withLock - (await timePerOrder(noLock, batches)));
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

type Take = (ids: Uuids) => Promise<Held>;

/** Ids as a claim has them from Postgres, of orders placed one after the other. */
async function sentBatches({ pool }: World, size: number, orders: number): Promise<Buffer[]> {
  const { rows } = await pool.query<{ sent: Buffer }>(
    `SELECT array_send(array_agg(('0199a3c0-7b6e-7c53-9d6c-' || lpad(to_hex(n), 12, '0'))::uuid ORDER BY n)) AS sent
       FROM generate_series(0, $2::int - 1) AS n GROUP BY n / $1::int`,
    [size, orders],
  );
  return rows.map(({ sent }) => sent);
}

/** Microseconds. */
async function timePerOrder(take: Take, sent: readonly Buffer[]): Promise<number> {
  const batches = sent.map((one) => Uuids.sent(one));
  const orders = batches.reduce((sum, { count }) => sum + count, 0);
  const startedMs = performance.now();
  for (const ids of batches) {
    const held = await take(ids);
    if (held.outcome !== 'held') throw new Error(`The lock was ${held.outcome}`);
    await held.release();
  }
  return (1_000 * (performance.now() - startedMs)) / orders;
}
