import type { BurstRun, Way } from './burst-ways';
import { cpuBetween } from './cpu';
import {
  assertClosedCompletely,
  closeTimes,
  fillPendingOrders,
  fillProducts,
  settle,
  SKUS,
  untilAllClosed,
} from './orders-table';
import type { BenchOptions } from './question';
import { createWorld, type World } from './world';

/** Closed shortly before, so that programs, connections and plans are as warm as in a shop that is open. */
export const WARM_UP_ORDERS = 6_000;
export const WARM_UP_AHEAD_S = 3;

interface Burst {
  /** Of a peer's batch mode. */
  readonly tuning?: readonly string[] | undefined;
  readonly products?: number;
  /** Asked of the world once all is closed. */
  readonly look?: (world: World) => Promise<void>;
}

/** So many orders, due at the same instant, closed in this way. */
export async function burstOnce(
  { servers, quick }: BenchOptions,
  way: Way,
  count: number,
  { tuning, products = SKUS, look }: Burst = {},
): Promise<BurstRun> {
  // Long enough to hand every order to a timer; doubled where this machine is slower than thought.
  const armsEach = way.armsEach && !quick;
  const warmUp = quick || way.isFresh ? 0 : Math.round(WARM_UP_ORDERS * way.share);
  for (let leadS = (quick ? 4 : 13) + (armsEach ? count / 5_000 : 0); ; leadS *= 2) {
    const world = await createWorld(servers);
    try {
      await fillProducts(world, products);
      if (warmUp > 0) {
        await fillPendingOrders(world, {
          count: warmUp,
          dueInS: leadS - WARM_UP_AHEAD_S,
          products,
        });
      }
      const dueAt = await fillPendingOrders(world, { count, dueInS: leadS, products });
      await settle(world);
      const worker = await way.start(world, tuning);
      try {
        if (dueAt.getTime() - Date.now() < 1_000) continue;
        const run = await measure(world, worker.pid, dueAt);
        await assertClosedCompletely(world, warmUp + count);
        await look?.(world);
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
