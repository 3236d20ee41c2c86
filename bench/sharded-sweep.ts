import { randomUUID } from 'node:crypto';
import { createDataSource, loadConfig } from '@app/orders';
import { type ShardReport, SweepShards } from '@app/timeout';
import {
  assertClosedCompletely,
  fillPendingOrders,
  fillProducts,
  settle,
  untilFolded,
} from './orders-table';
import { type BenchProcess, startLastcall } from './processes';
import type { BenchOptions, Cell, Findings, Question } from './question';
import { createWorld, type World } from './world';

const ORDERS = 1_000_000;
const QUICK_ORDERS = 4_000;
const WORKERS = 4;
const SHARDS = 64;
/** A killed one costs at most that much time. */
const AT_MOST = 1.5;
const POLL_MS = 100;

interface Run {
  readonly tookMs: number;
  readonly shards: readonly ShardReport[];
  readonly takenOver: number;
  /** Closed by rings and sweeps beside the run. */
  readonly beside: number;
}

export const shardedSweep: Question = {
  name: 'sharded-sweep',
  asks: 'How long do four workers take for a million overdue orders, and what does it cost that one is killed?',
  async answer(options) {
    const orders = options.quick ? QUICK_ORDERS : (options.orders ?? ORDERS);
    const healthy = await sweepOnce(options, orders, false);
    options.say(`four healthy workers: ${Math.round(healthy.tookMs)} ms`);
    const killed = await sweepOnce(options, orders, true);
    options.say(`one of four killed: ${Math.round(killed.tookMs)} ms`);
    return report(orders, healthy, killed);
  },
};

/** From the moment that all shards are to be had to the end of the last. */
async function sweepOnce(options: BenchOptions, orders: number, kills: boolean): Promise<Run> {
  const world = await createWorld(options.servers);
  const config = loadConfig(world.env);
  const dataSource = await createDataSource(config, 'lastcall bench').initialize();
  const workers: BenchProcess[] = [];
  try {
    await fillProducts(world);
    await fillPendingOrders(world, { count: orders, dueInS: -3_600, spreadS: 3_000 });
    await settle(world);
    const table = new SweepShards(dataSource);
    const runId = randomUUID();
    await table.open(runId, ['payment'], SHARDS);
    // Held by nobody who works, so that the workers come up and wait.
    await lease(world, runId, '10 minutes');
    for (let n = 0; n < WORKERS; n++) {
      workers.push(await startLastcall(world, { settings: { ROLES: 'worker' } }));
    }
    const startedMs = performance.now();
    await lease(world, runId, '0');
    const victim = workers[0] as BenchProcess;
    let isKilled = !kills;
    for (;;) {
      const shards = await table.read(runId);
      if (shards.every(({ state }) => state === 'ended')) {
        const tookMs = performance.now() - startedMs;
        await untilFolded(world);
        await assertClosedCompletely(world, orders);
        const takenOver = shards.filter(({ ranBy }) => ranBy.length > 1).length;
        const found = shards.reduce((sum, shard) => sum + shard.found, 0);
        return { tookMs, shards, takenOver, beside: orders - found };
      }
      const done = shards.filter(({ state }) => state === 'ended').length;
      const isAtWork = shards.some(
        ({ state, ranBy }) => state === 'running' && ranBy.at(-1)?.endsWith(`:${victim.pid}`),
      );
      if (!isKilled && isAtWork && done >= SHARDS / 3) {
        process.kill(victim.pid, 'SIGKILL');
        isKilled = true;
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await dataSource.destroy();
    await world.close();
  }
}

/** The last one a while longer: a run of which all leases have ended is nobody's for a second. */
async function lease(world: World, runId: string, time: string): Promise<void> {
  await world.rows(
    `UPDATE sweep_shards SET holder = run_id,
            lease_until = now() + greatest($2::interval, CASE WHEN shard = $3 THEN interval '3 s' END)
      WHERE run_id = $1`,
    [runId, time, SHARDS],
  );
}

function report(orders: number, healthy: Run, killed: Run): Findings {
  const ratio = killed.tookMs / healthy.tookMs;
  const row = (name: string, run: Run): Cell[] => [
    name,
    orders,
    Number((run.tookMs / 1_000).toFixed(1)),
    Math.round((1_000 * orders) / run.tookMs),
    run.takenOver,
    run.shards.reduce((sum, { left }) => sum + left, 0),
    run.beside,
    ...spread(run),
  ];
  return {
    tables: [
      {
        title: `Overdue orders in ${SHARDS} shards, swept by ${WORKERS} workers`,
        columns: [
          ...['workers', 'orders', 'took, s', 'orders/s', 'shards taken over', 'left'],
          ...['closed beside', 'fewest by one worker', 'most by one worker'],
        ],
        rows: [row('four healthy', healthy), row('one of them killed -9 after a third', killed)],
        note:
          'From the moment that all shards are to be had to the end of the last. Each order is closed once, with its ' +
          'event and its stock, or the run does not count. A killed worker is noticed by its lease, after 2.5 s. ' +
          'Closed beside: by a worker that had not heard of the run yet.',
      },
    ],
    goals: [
      {
        text: `at most ${AT_MOST} times as long with one of four killed`,
        met: ratio <= AT_MOST,
        measured: `${ratio.toFixed(2)} times`,
      },
      {
        // None where all was over before it could be killed.
        text: 'what the killed one was at is taken over',
        met: killed.takenOver > 0,
        measured: `${killed.takenOver} shards`,
      },
      {
        text: 'nothing left',
        met: [healthy, killed].every(({ shards }) => shards.every(({ left }) => left === 0)),
        measured: `${[healthy, killed].flatMap(({ shards }) => shards).reduce((sum, { left }) => sum + left, 0)} left`,
      },
    ],
  };
}

/** How many orders the idlest and the busiest worker had: a shard counts for whoever ended it. */
function spread({ shards }: Run): [number, number] {
  const by = new Map<string, number>();
  for (const { ranBy, found } of shards) {
    const last = ranBy.at(-1) ?? '';
    by.set(last, (by.get(last) ?? 0) + found);
  }
  const counts = [...by.values()];
  return [Math.min(...counts), Math.max(...counts)];
}
