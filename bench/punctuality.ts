import {
  assertClosedCompletely,
  closeTimes,
  fillPendingOrders,
  fillProducts,
  settle,
  untilAllClosed,
} from './orders-table';
import { type BenchProcess, startCompetitor, startLastcall } from './processes';
import type { BenchOptions, Goal, Question } from './question';
import { createWorld, type World } from './world';

const PER_SECOND = 1_000;
const SECONDS = 60;
const QUICK_SECONDS = 5;
/** More a second than it can start would only measure its queue. */
const DBOS_PER_SECOND = 200;

interface Way {
  readonly name: string;
  readonly perSecond?: number;
  start(world: World): Promise<BenchProcess>;
}

const WAYS: readonly Way[] = [
  {
    name: 'lastcall (slots)',
    start: (world) => startLastcall(world, { settings: { ROLES: 'worker' } }),
  },
  { name: 'BullMQ, a job an order', start: (world) => startCompetitor(world, 'bullmq') },
  {
    name: 'pg-boss, batch fetch every 500 ms',
    start: (world) => startCompetitor(world, 'pg-boss', ['--batch']),
  },
  {
    name: 'graphile-worker, polling every 2 s',
    start: (world) => startCompetitor(world, 'graphile-worker'),
  },
  {
    name: `DBOS, a sleeping workflow an order, ${DBOS_PER_SECOND} a second`,
    perSecond: DBOS_PER_SECOND,
    start: (world) => startCompetitor(world, 'dbos', ['--sleep']),
  },
  {
    name: 'cron poll every second, one by one',
    start: (world) => startCompetitor(world, 'cron-poll'),
  },
];

export const punctuality: Question = {
  name: 'punctuality',
  asks: 'How long after its deadline is an order closed, when they come due evenly?',
  async answer(options) {
    const rows = [];
    for (const way of WAYS) {
      const lag = await closeEvenly(options, way);
      options.say(`${way.name}: p50 ${Math.round(lag.p50Ms)} ms, p99 ${Math.round(lag.p99Ms)} ms`);
      rows.push({ name: way.name, ...lag });
    }
    const [ours] = rows;
    if (!ours) throw new Error('Nothing was measured');
    return {
      tables: [
        {
          title: `${PER_SECOND.toLocaleString('en-US')} orders due a second`,
          columns: ['way', 'earliest, ms', 'p50, ms', 'p99, ms', 'latest, ms'],
          rows: rows.map((row) => [
            row.name,
            ...[row.firstMs, row.p50Ms, row.p99Ms, row.lastMs].map(Math.round),
          ]),
          note: 'One run of a minute each: it holds its own repetitions. How late an order is hangs on when it is looked for, and little on the speed of the machine: so the goals are milliseconds.',
        },
      ],
      charts: [
        {
          name: 'punctuality',
          title: 'Lag behind the deadline (p99)',
          kind: 'bars',
          xTitle: 'way',
          yTitle: 'ms',
          logarithmic: true,
          points: rows.map((row) => ({ series: 'p99', x: row.name, y: row.p99Ms })),
        },
      ],
      goals: [
        below('p50', ours.p50Ms, 50),
        below('p99', ours.p99Ms, 100),
        {
          text: 'nothing early',
          met: ours.firstMs >= 0,
          measured: `${Math.round(ours.firstMs)} ms`,
        },
      ],
    };
  },
};

const below = (name: string, lagMs: number, mostMs: number): Goal => ({
  text: `${name} below ${mostMs} ms`,
  met: lagMs < mostMs,
  measured: `${Math.round(lagMs)} ms`,
});

async function closeEvenly({ servers, quick }: BenchOptions, way: Way) {
  const seconds = quick ? QUICK_SECONDS : SECONDS;
  const count = seconds * (way.perSecond ?? PER_SECOND);
  for (let leadS = quick ? 8 : 40; ; leadS *= 2) {
    const world = await createWorld(servers);
    try {
      await fillProducts(world);
      const dueAt = await fillPendingOrders(world, { count, dueInS: leadS, spreadS: seconds });
      await settle(world);
      const worker = await way.start(world);
      try {
        if (dueAt.getTime() - Date.now() < 1_000) continue;
        await untilAllClosed(world);
        await assertClosedCompletely(world, count);
        return await closeTimes(world);
      } finally {
        await worker.stop();
      }
    } finally {
      await world.close();
    }
  }
}
