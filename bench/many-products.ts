import { burstOnce } from './burst-once';
import { type BurstRun, OURS_WAY } from './burst-ways';
import { CPU_COLUMNS, cpuCells, type Question } from './question';
import { medianOf } from './statistics';
import type { World } from './world';

const ORDERS = 100_000;
const QUICK_ORDERS = 1_000;
/** A boutique, a department store, and a mail-order house. */
const CATALOGUES = [1_000, 10_000, 50_000] as const;
const MOST_UNTIL_BACK_MS = 1_000;

interface Herd extends BurstRun {
  readonly untilBackMs: number;
}

/** Of few products each comes many times in a batch, and is one movement; of many, each line is one. */
export const manyProducts: Question = {
  name: 'many-products',
  asks: 'How soon can be had again what a burst gives back, in shops with few and with many products?',
  async answer(options) {
    const { quick, rounds, orders, say } = options;
    const count = orders ?? (quick ? QUICK_ORDERS : ORDERS);
    const herds = new Map<number, Herd[]>(CATALOGUES.map((products) => [products, []]));
    for (let round = 0; round < rounds; round++) {
      for (const products of CATALOGUES) {
        let untilBackMs = NaN;
        const look = async (world: World) => void (untilBackMs = await longestUntilBack(world));
        const run = await burstOnce(options, OURS_WAY, count, { products, look });
        herds.get(products)?.push({ ...run, untilBackMs });
        const [perSecond, backMs] = [run.perSecond, untilBackMs].map(Math.round);
        say(`${products} products: ${perSecond}/s, back ${backMs} ms`);
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

/** By the commits of those who appended a movement and of those who folded it. */
async function longestUntilBack(world: World): Promise<number> {
  const [row] = await world.rows<{ ms: number }>(
    `SELECT 1000 * max(extract(epoch FROM pg_xact_commit_timestamp(xmin)
                                        - pg_xact_commit_timestamp(tx::xid)))::float8 AS ms
       FROM stock_movements`,
  );
  return row?.ms ?? NaN;
}
