import { cpuBetween, type CpuSeconds } from './cpu';
import {
  assertClosedCompletely,
  closeTimes,
  fillPendingOrders,
  fillProducts,
  settle,
  untilAllClosed,
} from './orders-table';
import { startLastcall } from './processes';
import { CPU_COLUMNS, cpuCells, type Question } from './question';
import { medianOf } from './statistics';
import { createWorld, type World } from './world';

const ORDERS = 100_000;
const QUICK_ORDERS = 1_000;
/** A boutique, a department store, and a mail-order house. */
const CATALOGUES = [1_000, 10_000, 50_000] as const;
/** Closed shortly before, as in a shop that is open. */
const WARM_UP_SHARE = 0.06;
const WARM_UP_AHEAD_S = 3;
/** To write so many orders down a second. */
const FILLED_A_SECOND = 10_000;
const MOST_UNTIL_BACK_MS = 1_000;

interface Herd {
  readonly perSecond: number;
  readonly lastMs: number;
  readonly untilBackMs: number;
  readonly cpu: CpuSeconds;
}

/** Whether a herd over many products, none of which comes twice in a batch, gives its stock back as fast. */
export const manyProducts: Question = {
  name: 'many-products',
  asks: 'How soon can be had again what a burst gives back, in shops with few and with many products?',
  async answer({ servers, quick, rounds, orders, say }) {
    const count = orders ?? (quick ? QUICK_ORDERS : ORDERS);
    const herds = new Map<number, Herd[]>(CATALOGUES.map((products) => [products, []]));
    for (let round = 0; round < rounds; round++) {
      for (const products of CATALOGUES) {
        const world = await createWorld(servers);
        try {
          const herd = await closeHerd(world, products, count);
          herds.get(products)?.push(herd);
          const { perSecond, untilBackMs } = herd;
          say(
            `${products} products: ${Math.round(perSecond)}/s, back ${Math.round(untilBackMs)} ms`,
          );
        } finally {
          await world.close();
        }
      }
    }
    return {
      tables: [
        {
          title: `${count.toLocaleString('en-US')} orders of two lines due at one instant, closed by one worker`,
          columns: [
            'products',
            'orders/s',
            'last closed, ms',
            'until stock is back, ms',
            ...CPU_COLUMNS,
          ],
          rows: [...herds].map(([products, all]) => [
            products.toLocaleString('en-US'),
            ...[
              medianOf(all, ({ perSecond }) => perSecond),
              medianOf(all, ({ lastMs }) => lastMs),
              medianOf(all, ({ untilBackMs }) => untilBackMs),
            ].map((value) => Math.round(value).toLocaleString('en-US')),
            ...cpuCells((all[0] as Herd).cpu, count),
          ]),
          note:
            'Until stock is back: the longest time between the commit that closed orders and the one that had their pieces ' +
            'counted as available. Placing that is short of a product counts them itself, at once. CPU is until all stock is back.',
        },
      ],
      goals: CATALOGUES.map((products) => {
        const ms = medianOf(herds.get(products) ?? [], ({ untilBackMs }) => untilBackMs);
        return {
          text: `stock of ${products.toLocaleString('en-US')} products back within a second`,
          met: ms <= MOST_UNTIL_BACK_MS,
          measured: `${Math.round(ms)} ms`,
        };
      }),
    };
  },
};

async function closeHerd(world: World, products: number, count: number): Promise<Herd> {
  await fillProducts(world, products);
  const warmUp = Math.round(count * WARM_UP_SHARE);
  const dueInS = 8 + count / FILLED_A_SECOND;
  await fillPendingOrders(world, { count: warmUp, dueInS: dueInS - WARM_UP_AHEAD_S, products });
  const due = await fillPendingOrders(world, { count, dueInS, products });
  await settle(world);
  const worker = await startLastcall(world, { settings: { ROLES: 'worker' } });
  try {
    const leftMs = due.getTime() - Date.now();
    if (leftMs < 1_000) throw new Error('The orders came due before all were written down');
    await new Promise((resolve) => setTimeout(resolve, leftMs - 100));
    const before = world.cpu([worker.pid]);
    await untilAllClosed(world);
    const cpu = cpuBetween(before, world.cpu([worker.pid]));
    await assertClosedCompletely(world, warmUp + count);
    return { ...(await closeTimes(world, due)), untilBackMs: await longestUntilBack(world), cpu };
  } finally {
    await worker.stop();
  }
}

/** By the commits of those who appended a movement and of those who folded it. */
async function longestUntilBack(world: World): Promise<number> {
  const [row] = await world.rows<{ ms: number }>(
    `SELECT 1000 * max(extract(epoch FROM pg_xact_commit_timestamp(xmin)
                                        - pg_xact_commit_timestamp(tx::xid)))::float8 AS ms
       FROM stock_movements`,
  );
  return row?.ms ?? NaN;
}
