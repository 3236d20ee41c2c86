import { burstFindings } from './burst-report';
import { type BurstRun, OURS, type Turn, type Tuned, type Way, WAYS } from './burst-ways';
import { cpuBetween } from './cpu';
import { LIMIT_BATCHES, openLimit } from './limit';
import {
  assertClosedCompletely,
  closeTimes,
  fillPendingOrders,
  fillProducts,
  settle,
  untilAllClosed,
} from './orders-table';
import type { BenchOptions, Question } from './question';
import { createWorld, type World } from './world';

const ORDERS = 100_000;
const QUICK_ORDERS = 2_000;
const QUICK_PLAIN_ORDERS = 300;
/** What the peers' batch modes are tuned with. */
const TUNING_ORDERS = 20_000;
/** For each round: no ratio swings as much as that of two that take a second each. */
const TURNS_A_ROUND = 2;
/** Closed shortly before, so that programs, connections and plans are as warm as in a shop that is open. */
const WARM_UP_ORDERS = 6_000;
const WARM_UP_AHEAD_S = 3;

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
        const run = await burstOnce(options, way, count, tuningOf(way));
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
      const { perSecond } = await burstOnce(options, way, TUNING_ORDERS, tuning);
      tried.push({ tuning, perSecond });
      options.say(`${way.name} ${tuning.join(' ')}: ${Math.round(perSecond)}/s`);
    }
    const fastest = Math.max(...tried.map(({ perSecond }) => perSecond));
    const best = tried.find(({ perSecond }) => perSecond === fastest)?.tuning ?? [];
    all.push({ way, tried, best });
  }
  return all;
}

async function burstOnce(
  { servers, quick }: BenchOptions,
  way: Way,
  count: number,
  tuning?: readonly string[],
): Promise<BurstRun> {
  // Long enough to hand every order to a timer; doubled where this machine is slower than thought.
  const armsEach = way.armsEach && !quick;
  const warmUp = quick || way.isFresh ? 0 : Math.round(WARM_UP_ORDERS * way.share);
  for (let leadS = (quick ? 4 : 13) + (armsEach ? count / 5_000 : 0); ; leadS *= 2) {
    const world = await createWorld(servers);
    try {
      await fillProducts(world);
      if (warmUp > 0) {
        await fillPendingOrders(world, { count: warmUp, dueInS: leadS - WARM_UP_AHEAD_S });
      }
      const dueAt = await fillPendingOrders(world, { count, dueInS: leadS });
      await settle(world);
      const worker = await way.start(world, tuning);
      try {
        if (dueAt.getTime() - Date.now() < 1_000) continue;
        const run = await measure(world, worker.pid, dueAt);
        await assertClosedCompletely(world, warmUp + count);
        return { ...run, orders: count };
      } finally {
        await worker.stop();
      }
    } finally {
      await world.close();
    }
  }
}

async function measure(world: World, pid: number, dueAt: Date): Promise<Omit<BurstRun, 'orders'>> {
  await new Promise((resolve) => setTimeout(resolve, dueAt.getTime() - Date.now() - 100));
  const before = world.cpu([pid]);
  await untilAllClosed(world);
  const cpu = cpuBetween(before, world.cpu([pid]));
  return { ...(await closeTimes(world, dueAt)), cpu };
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
  const way = WAYS.find(({ name }) => name === OURS) as Way;
  const { perSecond: ours } = await burstOnce(options, way, orders);
  const limits = [];
  for (const batch of LIMIT_BATCHES) limits.push(await limitOnce(options, orders, batch));
  const batch = rival ? (await burstOnce(options, rival, orders, tuning)).perSecond : undefined;
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
