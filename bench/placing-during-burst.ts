import { loadApi, type LoadResult, orderRequests } from './load';
import { fillPendingOrders, fillProducts, settle } from './orders-table';
import { startLastcall } from './processes';
import { type BenchOptions, type Question, ratioGoal } from './question';
import { medianOf } from './statistics';
import { createWorld, type World } from './world';

/** A shop that is busy, not one that is flooded: what a burst adds shows only below the limit. */
const CONNECTIONS = 20;
const SECONDS = 8;
const BURST = 100_000;
const QUICK_BURST = 2_000;
const LEAD_S = 12;
const WARM_UP = 1_000;
/** What a hundredth waits is luck: more of them tell. */
const TURNS_A_ROUND = 3;

export const placingDuringBurst: Question = {
  name: 'placing-during-burst',
  asks: 'How much longer does placing take while a burst of orders closes?',
  async answer(options) {
    const calm: Placed[] = [];
    const busy: Placed[] = [];
    const closing = options.quick ? QUICK_BURST : BURST;
    const turns = options.quick ? 1 : TURNS_A_ROUND * options.rounds;
    for (let turn = 1; turn <= turns; turn++) {
      calm.push(await placeBeside(options, 0));
      busy.push(await placeBeside(options, closing));
    }
    const rows = [
      ['nothing closes', calm],
      [`${closing.toLocaleString('en-US')} orders close`, busy],
    ] as const;
    return {
      tables: [
        {
          title: `POST /v1/orders, ${CONNECTIONS} connections; API and worker are two processes`,
          columns: ['meanwhile', 'orders/s', 'p50, ms', 'p99, ms', 'failed', 'last closed, ms'],
          rows: rows.map(([name, all]) => [
            name,
            Math.round(medianOf(all, (one) => one.perSecond)),
            medianOf(all, (one) => one.p50Ms),
            medianOf(all, (one) => one.p99Ms),
            all.reduce((sum, one) => sum + one.failed, 0),
            medianOf(all, (one) => one.closedAfterMs) || '',
          ]),
          note: `The burst begins as the ${SECONDS} s of placing do. Medians of ${turns} turns.`,
        },
      ],
      goals: [
        ratioGoal(
          'p99 of placing during a burst that is due now, against the calm before: at most 2',
          busy.map((one, round) => one.p99Ms / (calm[round]?.p99Ms ?? NaN)),
          { most: 2 },
        ),
      ],
    };
  },
};

interface Placed extends LoadResult {
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

async function placeBeside({ servers, quick, say }: BenchOptions, count: number): Promise<Placed> {
  const world = await createWorld(servers);
  try {
    await fillProducts(world);
    const leadS = quick ? LEAD_S : LEAD_S + count / 10_000;
    const dueAt = count > 0 ? await fillPendingOrders(world, { count, dueInS: leadS }) : new Date();
    await settle(world);
    const worker = await startLastcall(world, { settings: { ROLES: 'worker' } });
    const api = await startLastcall(world, { settings: { ROLES: 'api' } });
    try {
      const next = await orderRequests('cold');
      await loadApi(world, api, { connections: CONNECTIONS, requests: WARM_UP }, next);
      const waitMs = dueAt.getTime() - Date.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      const result = await loadApi(
        world,
        api,
        { connections: CONNECTIONS, seconds: quick ? 2 : SECONDS },
        next,
      );
      const closedAfterMs = count > 0 ? await lastClosedMs(world, count) : 0;
      say(`${count} closing: ${Math.round(result.perSecond)}/s, p99 ${result.p99Ms} ms`);
      return { ...result, closedAfterMs };
    } finally {
      await api.stop();
      await worker.stop();
    }
  } finally {
    await world.close();
  }
}
