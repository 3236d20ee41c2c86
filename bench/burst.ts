import { cpuBetween, type CpuSeconds } from './cpu';
import { closeAtTheLimit } from './limit';
import {
  assertClosedCompletely,
  type CloseTimes,
  closeTimes,
  fillPendingOrders,
  fillProducts,
  settle,
  untilAllClosed,
} from './orders-table';
import { type BenchProcess, startCompetitor, startLastcall } from './processes';
import { type BenchOptions, CPU_COLUMNS, cpuCells, type Findings, type Question } from './question';
import { medianOf } from './statistics';
import { createWorld, type World } from './world';

interface Way {
  readonly name: string;
  /** One transaction an order: fewer orders tell its speed as well. */
  readonly isPlain: boolean;
  readonly isOurs?: boolean;
  start(world: World): Promise<BenchProcess>;
}

const ours = (settings: Readonly<Record<string, string>> = {}) => ({
  isPlain: false,
  isOurs: true,
  start: (world: World) => startLastcall(world, { settings: { ROLES: 'worker', ...settings } }),
});

const theirs = (program: string, isPlain: boolean, args: readonly string[] = []) => ({
  isPlain,
  start: (world: World) => startCompetitor(world, program, args),
});

const LASTCALL = 'lastcall (slots)';
const WAYS: readonly Way[] = [
  { name: LASTCALL, ...ours() },
  { name: 'lastcall (one alarm an order)', ...ours({ TIMER_GRANULARITY: 'order' }) },
  { name: 'BullMQ, a job, a lock and a transaction an order', ...theirs('bullmq', true) },
  { name: 'pg-boss, a transaction an order', ...theirs('pg-boss', true) },
  { name: 'pg-boss, batch fetch and batch SQL', ...theirs('pg-boss', false, ['--batch']) },
  { name: 'graphile-worker, a transaction an order', ...theirs('graphile-worker', true) },
  { name: 'graphile-worker, batch jobs', ...theirs('graphile-worker', false, ['--batch']) },
  { name: 'cron poll, one by one', ...theirs('cron-poll', true) },
];

const ORDERS = 100_000;
const PLAIN_SHARE = 0.1;
const QUICK_ORDERS = 2_000;

interface Run extends CloseTimes {
  readonly orders: number;
  readonly cpu: CpuSeconds;
}

export const burst: Question = {
  name: 'burst',
  asks: 'How fast do orders close that are all due in the same second?',
  async answer(options) {
    const orders = options.quick ? QUICK_ORDERS : (options.orders ?? ORDERS);
    // A number of orders asked for by hand asks about lastcall alone.
    const ways = options.orders === undefined ? WAYS : WAYS.filter(({ isOurs }) => isOurs);
    const runs = new Map<string, Run[]>(ways.map(({ name }) => [name, []]));
    const limits: number[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      for (const way of ways) {
        const count = way.isPlain && !options.quick ? orders * PLAIN_SHARE : orders;
        const run = await burstOnce(options, way, count);
        runs.get(way.name)?.push(run);
        options.say(`${way.name}: ${Math.round(run.perSecond).toLocaleString('en-US')}/s`);
      }
      limits.push(await limitOnce(options, orders));
    }
    return report(runs, limits);
  },
};

async function burstOnce({ servers, quick }: BenchOptions, way: Way, count: number): Promise<Run> {
  // Long enough to hand every order to a timer; doubled where this machine is slower than thought.
  const armsEach = way.name !== LASTCALL && !quick;
  for (let leadS = (quick ? 4 : 10) + (armsEach ? count / 5_000 : 0); ; leadS *= 2) {
    const world = await createWorld(servers);
    try {
      await fillProducts(world);
      const dueAt = await fillPendingOrders(world, { count, dueInS: leadS });
      await settle(world);
      const worker = await way.start(world);
      try {
        if (dueAt.getTime() - Date.now() < 1_000) continue;
        return await measure(world, worker.pid, dueAt, count);
      } finally {
        await worker.stop();
      }
    } finally {
      await world.close();
    }
  }
}

async function measure(world: World, pid: number, dueAt: Date, count: number): Promise<Run> {
  await new Promise((resolve) => setTimeout(resolve, dueAt.getTime() - Date.now() - 100));
  const before = world.cpu([pid]);
  await untilAllClosed(world);
  const cpu = cpuBetween(before, world.cpu([pid]));
  await assertClosedCompletely(world, count);
  return { ...(await closeTimes(world)), orders: count, cpu };
}

async function limitOnce({ servers }: BenchOptions, count: number): Promise<number> {
  const world = await createWorld(servers);
  try {
    await fillProducts(world);
    await fillPendingOrders(world, { count, dueInS: -1 });
    await settle(world);
    const perSecond = await closeAtTheLimit(world, count);
    await assertClosedCompletely(world, count);
    return perSecond;
  } finally {
    await world.close();
  }
}

function report(runs: ReadonlyMap<string, readonly Run[]>, limits: readonly number[]): Findings {
  const rows = [...runs].map(([name, all]) => ({
    name,
    orders: all[0]?.orders ?? 0,
    perSecond: medianOf(all, (run) => run.perSecond),
    firstMs: medianOf(all, (run) => run.firstMs),
    p50Ms: medianOf(all, (run) => run.p50Ms),
    p99Ms: medianOf(all, (run) => run.p99Ms),
    lastMs: medianOf(all, (run) => run.lastMs),
    cpu: {
      node: medianOf(all, (run) => run.cpu.node),
      postgres: medianOf(all, (run) => run.cpu.postgres),
      redis: medianOf(all, (run) => run.cpu.redis),
    },
  }));
  const limit = medianOf(limits, (perSecond) => perSecond);
  const lastcall = rows.find(({ name }) => name === LASTCALL) as (typeof rows)[number];
  const rate = (per: number): string => `${Math.round(per).toLocaleString('en-US')}/s`;
  const peers = rows.filter(({ name }) => !name.startsWith('lastcall'));
  const bestPlain = Math.max(
    0,
    ...peers
      .filter(({ name }) => WAYS.find((w) => w.name === name)?.isPlain)
      .map((p) => p.perSecond),
  );
  const bestPeer = Math.max(0, ...peers.map((p) => p.perSecond));
  const times = (a: number, b: number): string => `${(a / b).toFixed(1)}x`;
  return {
    tables: [
      {
        title: 'Orders due at the same instant: status, event, stock of two lines, durable',
        columns: [
          'way',
          'orders',
          'orders/s',
          'first, ms',
          'p50, ms',
          'p99, ms',
          'last, ms',
          ...CPU_COLUMNS,
        ],
        rows: [
          ...rows.map((row) => [
            row.name,
            row.orders,
            Math.round(row.perSecond),
            Math.round(row.firstMs),
            Math.round(row.p50Ms),
            Math.round(row.p99Ms),
            Math.round(row.lastMs),
            ...cpuCells(row.cpu),
          ]),
          [
            'the limit: the batch SQL in a procedure, no client',
            lastcall.orders,
            Math.round(limit),
            '',
            '',
            '',
            '',
            '',
            '',
            '',
          ],
        ],
        note: 'Orders/s counts from the deadline to the last commit; lag is that of the commit, by `pg_xact_commit_timestamp`. A transaction an order is as slow with fewer orders, so those ways get a tenth.',
      },
    ],
    charts: [
      {
        name: 'burst',
        title: 'Closing orders that are all due at once',
        kind: 'bars',
        xTitle: 'way',
        yTitle: 'orders per second',
        points: [
          ...rows.map((row) => ({ series: 'orders/s', x: row.name, y: row.perSecond })),
          { series: 'orders/s', x: 'the limit (SQL alone)', y: limit },
        ],
      },
    ],
    goals: [
      {
        text: '50,000 orders/s or more',
        met: lastcall.perSecond >= 50_000,
        measured: rate(lastcall.perSecond),
      },
      {
        text: 'at least half of the limit',
        met: lastcall.perSecond >= limit / 2,
        measured: `${Math.round((100 * lastcall.perSecond) / limit)}%`,
      },
      {
        text: 'first order closed within 250 ms',
        met: lastcall.firstMs <= 250,
        measured: `${Math.round(lastcall.firstMs)} ms`,
      },
      {
        text: 'last order closed within 3 s',
        met: lastcall.lastMs <= 3_000,
        measured: `${Math.round(lastcall.lastMs)} ms`,
      },
      ...(peers.length === 0
        ? []
        : [
            {
              text: '10 times the best peer used plainly',
              met: lastcall.perSecond >= 10 * bestPlain,
              measured: times(lastcall.perSecond, bestPlain),
            },
            {
              text: 'ahead of every batch mode',
              met: lastcall.perSecond > bestPeer,
              measured: times(lastcall.perSecond, bestPeer),
            },
          ]),
    ],
  };
}
