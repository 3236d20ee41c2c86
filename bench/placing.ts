import { loadApi, type LoadResult, orderRequests } from './load';
import { fillProducts } from './orders-table';
import { startLastcall } from './processes';
import { cpuMicrosEach } from './cpu';
import {
  type BenchOptions,
  CPU_COLUMNS,
  cpuCells,
  cpuGoal,
  type Question,
  ratioGoal,
} from './question';
import { medianOf } from './statistics';
import { createWorld, type World } from './world';

const GROUPS = 'groups, 1,000 SKUs';
const HOT = 'groups, one hot pair of SKUs';
const CEILING = 'the ceiling: bare Fastify that does nothing';
const SINGLE = 'one order a transaction, 1,000 SKUs';

/** 200 connections keep groups full; fewer are punctual at any speed. */
const WAYS = [
  { name: GROUPS, skus: 'cold', program: undefined },
  { name: HOT, skus: 'hot', program: undefined },
  { name: SINGLE, skus: 'cold', program: 'one-order-a-transaction' },
  {
    name: 'one order a transaction, one hot pair of SKUs',
    skus: 'hot',
    program: 'one-order-a-transaction',
  },
  { name: CEILING, skus: 'cold', program: 'bare-fastify' },
] as const;
const CONNECTIONS = 200;
const SECONDS = 10;
const WARM_UP = 10_000;
const QUICK_WARM_UP = 400;

export const placing: Question = {
  name: 'placing',
  asks: 'How many orders can be placed over HTTP, and how long does one take?',
  async answer(options) {
    const results = new Map<string, LoadResult[]>(WAYS.map(({ name }) => [name, []]));
    for (let round = 1; round <= options.rounds; round++) {
      for (const way of WAYS) {
        const result = await placeOnce(options, way);
        results.get(way.name)?.push(result);
        options.say(`${way.name}: ${Math.round(result.perSecond)}/s, p99 ${result.p99Ms} ms`);
      }
    }
    const rows = [...results].map(([name, all]) => ({
      name,
      perSecond: medianOf(all, (one) => one.perSecond),
      p50Ms: medianOf(all, (one) => one.p50Ms),
      p99Ms: medianOf(all, (one) => one.p99Ms),
      failed: all.reduce((sum, one) => sum + one.failed, 0),
      cpu: (all[0] as LoadResult).cpu,
      answered: (all[0] as LoadResult).answered,
      all,
    }));
    const row = (name: string) => rows.find((one) => one.name === name) as (typeof rows)[number];
    const [groups, hot, single] = [row(GROUPS), row(HOT), row(SINGLE)];
    return {
      tables: [
        {
          title: `POST /v1/orders, ${CONNECTIONS} connections, the API with its worker in one process`,
          columns: ['way', 'orders/s', 'p50, ms', 'p99, ms', 'failed', ...CPU_COLUMNS],
          rows: rows.map((one) => [
            one.name,
            Math.round(one.perSecond),
            one.p50Ms,
            one.p99Ms,
            one.failed,
            ...cpuCells(one.cpu, one.answered),
          ]),
          note: '10,000 customers order in turns, each by a token of its own. The rate limit is off, as all of them come from one address. Stock is checked after each run: reserved is what was placed.',
        },
      ],
      charts: [
        {
          name: 'placing',
          title: 'Placing orders over HTTP',
          kind: 'bars',
          xTitle: 'way',
          yTitle: 'orders per second',
          points: rows.map((one) => ({ series: 'orders/s', x: one.name, y: one.perSecond })),
        },
      ],
      goals: [
        cpuGoal('an order placed over HTTP by one of 10,000 customers', micros(groups.all), 130),
        ratioGoal(
          'one order a transaction: 4 times',
          groups.all.map((one, round) => one.perSecond / (single.all[round]?.perSecond ?? NaN)),
          { least: 4 },
        ),
        ratioGoal(
          'hot SKUs against cold ones: 0.8 of the speed',
          hot.all.map((one, round) => one.perSecond / (groups.all[round]?.perSecond ?? NaN)),
          { least: 0.8 },
        ),
      ],
    };
  },
};

const micros = (all: readonly LoadResult[]): number =>
  medianOf(all, ({ cpu, answered }) => cpuMicrosEach(cpu, answered));

async function placeOnce(
  { servers, quick }: BenchOptions,
  { skus, program }: (typeof WAYS)[number],
): Promise<LoadResult> {
  const world = await createWorld(servers);
  try {
    await fillProducts(world);
    const api = await startLastcall(world, program ? { program } : {});
    try {
      const next = await orderRequests(skus);
      const seconds = quick ? 1 : SECONDS;
      await loadApi(
        world,
        api,
        { connections: CONNECTIONS, requests: quick ? QUICK_WARM_UP : WARM_UP },
        next,
      );
      const result = await loadApi(world, api, { connections: CONNECTIONS, seconds }, next);
      await assertNothingOversold(world);
      return result;
    } finally {
      await api.stop();
    }
  } finally {
    await world.close();
  }
}

async function assertNothingOversold(world: World): Promise<void> {
  const [row] = await world.rows<{
    reserved: string;
    ordered: string;
    orders: string;
    keys: string;
  }>(
    `SELECT (SELECT coalesce(sum(reserved), 0) FROM products) AS reserved,
            (SELECT coalesce(sum(quantity), 0) FROM order_items) AS ordered,
            (SELECT count(*) FROM orders) AS orders,
            (SELECT count(*) FROM idempotency_keys) AS keys`,
  );
  if (row && row.reserved === row.ordered && row.orders === row.keys) return;
  throw new Error(`Placing does not add up: ${JSON.stringify(row)}`);
}
