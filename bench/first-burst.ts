import { cpuBetween, cpuMicrosEach } from './cpu';
import {
  assertClosedCompletely,
  closeTimes,
  fillPendingOrders,
  fillProducts,
  settle,
  untilAllClosed,
} from './orders-table';
import { startLastcall } from './processes';
import { type Question, ratioGoal } from './question';
import { medianOf } from './statistics';
import { createWorld, type World } from './world';

const ORDERS = 60_000;
const QUICK_ORDERS = 1_000;
/** A connection keeps its plans from the fifth run of a statement on. */
const BEFORE = { rounds: 12, orders: 5 };
/** To write so many orders down a second, and to settle them. */
const FILLED_A_SECOND = 3_000;

const WAYS = ['looked at just before', 'last looked at when empty'] as const;
type Way = (typeof WAYS)[number];

interface Burst {
  readonly perSecond: number;
  readonly p99Ms: number;
  readonly cpuMicros: number;
  /** From the deadline until the stock of all is back. */
  readonly stockBackMs: number;
}

/** Whether closing lives on statistics that only a table that was full before can have. */
export const firstBurst: Question = {
  name: 'first-burst',
  asks: 'How fast are orders closed when Postgres has last looked at their tables while those were empty?',
  async answer({ servers, quick, rounds, orders, say }) {
    const count = orders ?? (quick ? QUICK_ORDERS : ORDERS);
    const bursts = new Map<Way, Burst[]>(WAYS.map((way) => [way, []]));
    for (let round = 0; round < rounds; round++) {
      for (const way of WAYS) {
        const world = await createWorld(servers);
        try {
          const burst = await closeBurst(world, way, count);
          bursts.get(way)?.push(burst);
          const { perSecond, cpuMicros } = burst;
          say(`${way}: ${Math.round(perSecond)} a second, ${Math.round(cpuMicros)} us of CPU each`);
        } finally {
          await world.close();
        }
      }
    }
    const [warm, cold] = WAYS.map((way) => bursts.get(way) ?? []) as [Burst[], Burst[]];
    const ratios = cold.map(({ perSecond }, i) => perSecond / (warm[i]?.perSecond ?? NaN));
    return {
      tables: [
        {
          title: `${count.toLocaleString('en-US')} orders due at one instant, closed by one worker`,
          columns: ['tables', 'orders a second', 'p99, ms', 'stock back, ms', 'CPU us an order'],
          rows: [...bursts].map(([way, all]) => [
            way,
            ...[
              medianOf(all, ({ perSecond }) => perSecond),
              medianOf(all, ({ p99Ms }) => p99Ms),
              medianOf(all, ({ stockBackMs }) => stockBackMs),
              medianOf(all, ({ cpuMicros }) => cpuMicros),
            ].map(Math.round),
          ]),
          note:
            'The worker has closed some sixty orders before, so that its connections keep their plans. Then autovacuum is away, as it ' +
            'is for up to a minute, and the orders are there at once.',
        },
      ],
      goals: [
        ratioGoal('the first burst, against one with fresh statistics', ratios, { least: 0.8 }),
      ],
    };
  },
};

async function closeBurst(world: World, way: Way, count: number): Promise<Burst> {
  await fillProducts(world);
  await settle(world);
  const tables = await world.rows<{ name: string }>(
    `SELECT oid::regclass::text AS name FROM pg_class
      WHERE relkind = 'r' AND relnamespace = 'lastcall'::regnamespace`,
  );
  for (const { name } of tables) {
    await world.pool.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
  }
  const worker = await startLastcall(world, { settings: { ROLES: 'worker' } });
  try {
    for (let round = 0; round < BEFORE.rounds; round++) {
      await fillPendingOrders(world, { count: BEFORE.orders, dueInS: 0 });
      await untilAllClosed(world);
    }
    const dueInS = 5 + count / FILLED_A_SECOND;
    const due = await fillPendingOrders(world, { count, dueInS });
    if (way === 'looked at just before') await settle(world);
    else await world.pool.query('CHECKPOINT');
    const leftMs = due.getTime() - Date.now();
    if (leftMs < 1_000) throw new Error('The orders came due before all were written down');
    await new Promise((resolve) => setTimeout(resolve, leftMs - 500));
    const before = world.cpu([worker.pid]);
    await untilAllClosed(world);
    const stockBackMs = Date.now() - due.getTime();
    const cpuMicros = cpuMicrosEach(cpuBetween(before, world.cpu([worker.pid])), count);
    await assertClosedCompletely(world, count + BEFORE.rounds * BEFORE.orders);
    return { ...(await closeTimes(world, due)), cpuMicros, stockBackMs };
  } finally {
    await worker.stop();
  }
}
