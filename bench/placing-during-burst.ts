import autocannon from 'autocannon';
import { orderRequests } from './load';
import { fillPendingOrders, fillProducts, settle } from './orders-table';
import { startLastcall } from './processes';
import { type BenchOptions, type Cell, type Question, ratioGoal } from './question';
import { medianOf, percentile } from './statistics';
import { createWorld, type World } from './world';

/** A shop that is busy, not one that is flooded: what a burst adds shows only below the limit. */
const CONNECTIONS = 20;
/** Before the burst, and from then on. */
const SECONDS = 8;
const QUICK_SECONDS = 2;
/** Placing has been under way for so long by then: code, connections and plans are warm. */
const WARM_UP_S = 3;
const BURST = 100_000;
const QUICK_BURST = 2_000;
/** To write so many orders down a second. */
const FILLED_A_SECOND = 10_000;
const START_S = 4;
/** What a hundredth waits is luck: more of them tell. */
const TURNS_A_ROUND = 3;

export const placingDuringBurst: Question = {
  name: 'placing-during-burst',
  asks: 'How much longer does placing take while a burst of orders closes?',
  async answer(options) {
    const closing = options.quick ? QUICK_BURST : BURST;
    const turns = options.quick ? 1 : TURNS_A_ROUND * options.rounds;
    const all: Placed[] = [];
    for (let turn = 1; turn <= turns; turn++) all.push(await placeThrough(options, closing));
    const row = (name: string, windows: readonly Window[], lastMs: Cell): Cell[] => [
      name,
      Math.round(medianOf(windows, (one) => one.perSecond)),
      medianOf(windows, (one) => one.p50Ms).toFixed(1),
      medianOf(windows, (one) => one.p99Ms).toFixed(1),
      lastMs,
    ];
    const calm = all.map((one) => one.calm);
    const busy = all.map((one) => one.busy);
    const closedAfterMs = medianOf(all, (one) => one.closedAfterMs);
    const failed = all.reduce((sum, one) => sum + one.failed, 0);
    return {
      tables: [
        {
          title: `POST /v1/orders, ${CONNECTIONS} connections; API and worker are two processes`,
          columns: ['meanwhile', 'orders/s', 'p50, ms', 'p99, ms', 'last closed, ms'],
          rows: [
            row('nothing closes yet', calm, ''),
            row(`${closing.toLocaleString('en-US')} orders close`, busy, closedAfterMs),
          ],
          note:
            `One load, placed without a pause: after ${WARM_UP_S} s of it, ${SECONDS} s before the burst and ${SECONDS} s from ` +
            `its instant on. Medians of ${turns} turns; ${failed} requests failed.`,
        },
      ],
      goals: [
        ratioGoal(
          'p99 of placing during a burst that is due now, against the calm before: at most 2',
          all.map(({ calm, busy }) => busy.p99Ms / calm.p99Ms),
          { most: 2 },
        ),
        { text: 'no order is refused', met: failed === 0, measured: `${failed} requests failed` },
      ],
    };
  },
};

interface Window {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Placed {
  readonly calm: Window;
  readonly busy: Window;
  readonly failed: number;
  /** The last of those that closed, after they were due. */
  readonly closedAfterMs: number;
}

async function lastClosedMs({ pool }: World, count: number): Promise<number> {
  const { rows } = await pool.query<{ n: number; ms: number }>(
    `SELECT count(*)::int AS n, (1000 * extract(epoch FROM max(closed_at - closes_at)))::int AS ms
       FROM orders WHERE status = 'closed'`,
  );
  const [closed] = rows;
  if (closed?.n !== count) throw new Error(`${closed?.n} of ${count} orders have closed`);
  return closed.ms;
}

/** The time that filling and starting takes is doubled where this machine is slower than thought. */
async function placeThrough(options: BenchOptions, count: number): Promise<Placed> {
  for (let leadS = START_S + 2 * (count / FILLED_A_SECOND); ; leadS *= 2) {
    const placed = await placeAfter(leadS, options, count);
    if (placed) return placed;
  }
}

/** Undefined where the orders come due too soon for a calm before. */
async function placeAfter(
  leadS: number,
  { servers, quick, say }: BenchOptions,
  count: number,
): Promise<Placed | undefined> {
  const windowS = quick ? QUICK_SECONDS : SECONDS;
  const world = await createWorld(servers);
  try {
    await fillProducts(world);
    const aheadS = WARM_UP_S + windowS;
    const dueAt = await fillPendingOrders(world, { count, dueInS: leadS + aheadS });
    await settle(world);
    const worker = await startLastcall(world, { settings: { ROLES: 'worker' } });
    const api = await startLastcall(world, { settings: { ROLES: 'api' } });
    try {
      const setupRequest = await orderRequests('cold');
      const leftMs = dueAt.getTime() - Date.now() - 1_000 * aheadS;
      if (leftMs < 0) return undefined;
      await new Promise((resolve) => setTimeout(resolve, leftMs));
      const answers: { readonly atMs: number; readonly tookMs: number }[] = [];
      const { non2xx, errors } = await autocannon({
        url: api.url,
        connections: CONNECTIONS,
        duration: aheadS + windowS,
        timeout: 30,
        requests: [{ method: 'POST', path: '/', setupRequest }],
      }).on('response', (_, status, __, tookMs) => {
        // Who is refused soon has placed nothing.
        if (status === 201) answers.push({ atMs: Date.now() - dueAt.getTime(), tookMs });
      });
      const windowFrom = (fromMs: number): Window => {
        const isWithin = (ms: number): boolean => ms >= fromMs && ms < fromMs + 1_000 * windowS;
        const took = answers.filter(({ atMs }) => isWithin(atMs)).map(({ tookMs }) => tookMs);
        const [p50Ms, p99Ms] = [percentile(took, 50), percentile(took, 99)];
        return { perSecond: took.length / windowS, p50Ms, p99Ms };
      };
      const [calm, busy] = [windowFrom(-1_000 * windowS), windowFrom(0)];
      say(`p99 ${calm.p99Ms.toFixed(1)} ms, then ${busy.p99Ms.toFixed(1)} ms`);
      const closedAfterMs = await lastClosedMs(world, count);
      return { calm, busy, failed: non2xx + errors, closedAfterMs };
    } finally {
      await api.stop();
      await worker.stop();
    }
  } finally {
    await world.close();
  }
}
