import { burstFindings } from './burst-report';
import { burstOnce, WARM_UP_ORDERS } from './burst-once';
import { type BurstRun, OURS_WAY, type Turn, type Tuned, type Way, WAYS } from './burst-ways';
import { LIMIT_BATCHES, openLimit } from './limit';
import { assertClosedCompletely, fillPendingOrders, fillProducts, settle } from './orders-table';
import type { BenchOptions, Question } from './question';
import { createWorld } from './world';

const ORDERS = 100_000;
const QUICK_ORDERS = 2_000;
const QUICK_PLAIN_ORDERS = 300;
/** What the peers' batch modes are tuned with. */
const TUNING_ORDERS = 20_000;
/** For each round: no ratio swings as much as that of two that take a second each. */
const TURNS_A_ROUND = 2;

export const burst: Question = {
  name: 'burst',
  asks: 'How fast do orders close that are all due in the same second?',
  async answer(options) {
    const orders = options.quick ? QUICK_ORDERS : (options.orders ?? ORDERS);
    // A number of orders asked for by hand asks about lastcall alone.
    const ways = options.orders === undefined ? WAYS : WAYS.filter(({ whose }) => whose === 'ours');
    const tuned = options.quick ? [] : await tuneAll(options, ways);
    const tuningOf = (way: Way) => tuned.find((one) => one.way === way)?.best;
    const runs = new Map<Way, BurstRun[]>(ways.map((way) => [way, []]));
    const turns: Turn[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      for (const way of ways) {
        const count = options.quick ? quickOrders(way) : orders * way.share;
        const run = await burstOnce(options, way, count, { tuning: tuningOf(way) });
        runs.get(way)?.push(run);
        options.say(`${way.name}: ${Math.round(run.perSecond).toLocaleString('en-US')}/s`);
      }
      const rival = fastestBatch(runs);
      for (let turn = 1; turn <= (options.quick ? 1 : TURNS_A_ROUND); turn++) {
        turns.push(await takeTurn(options, orders, rival, rival && tuningOf(rival)));
      }
    }
    return burstFindings({ ways: runs, turns, tuned });
  },
};

const quickOrders = ({ whose }: Way): number =>
  whose === 'plain' ? QUICK_PLAIN_ORDERS : QUICK_ORDERS;

async function tuneAll(options: BenchOptions, ways: readonly Way[]): Promise<Tuned[]> {
  const all: Tuned[] = [];
  for (const way of ways) {
    if (!way.tunings) continue;
    const tried: { tuning: readonly string[]; perSecond: number }[] = [];
    for (const tuning of way.tunings) {
      const { perSecond } = await burstOnce(options, way, TUNING_ORDERS, { tuning });
      tried.push({ tuning, perSecond });
      options.say(`${way.name} ${tuning.join(' ')}: ${Math.round(perSecond)}/s`);
    }
    const fastest = Math.max(...tried.map(({ perSecond }) => perSecond));
    const best = tried.find(({ perSecond }) => perSecond === fastest)?.tuning ?? [];
    all.push({ way, tried, best });
  }
  return all;
}

/** By the round that was last. */
function fastestBatch(runs: ReadonlyMap<Way, readonly BurstRun[]>): Way | undefined {
  const batches = [...runs].filter(([{ whose }]) => whose === 'batch');
  const speedOf = ([, all]: (typeof batches)[number]): number => all.at(-1)?.perSecond ?? 0;
  return batches.sort((one, other) => speedOf(other) - speedOf(one))[0]?.[0];
}

/** What the closest ratios are told by, one right behind the other. */
async function takeTurn(
  options: BenchOptions,
  orders: number,
  rival: Way | undefined,
  tuning: readonly string[] | undefined,
): Promise<Turn> {
  const { perSecond: ours } = await burstOnce(options, OURS_WAY, orders);
  const limits = [];
  for (const batch of LIMIT_BATCHES) limits.push(await limitOnce(options, orders, batch));
  const batch = rival ? (await burstOnce(options, rival, orders, { tuning })).perSecond : undefined;
  const speeds = [ours, ...limits, ...(batch === undefined ? [] : [batch])].map(Math.round);
  options.say(`lastcall, the limits, the fastest batch mode: ${speeds.join(', ')}/s`);
  return { ours, limits, batch };
}

async function limitOnce({ servers }: BenchOptions, count: number, batch: number): Promise<number> {
  const world = await createWorld(servers);
  try {
    await fillProducts(world);
    const limit = await openLimit(world, batch);
    try {
      const close = async (orders: number): Promise<number> => {
        await fillPendingOrders(world, { count: orders, dueInS: -1 });
        await settle(world);
        return limit.closeAll();
      };
      await close(WARM_UP_ORDERS);
      const tookMs = await close(count);
      await assertClosedCompletely(world, WARM_UP_ORDERS + count);
      return (1_000 * count) / tookMs;
    } finally {
      limit.close();
    }
  } finally {
    await world.close();
  }
}
