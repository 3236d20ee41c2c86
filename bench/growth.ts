import type { DeadlineHandler } from '@app/timeout';
import { WARM_UP_AHEAD_S, WARM_UP_ORDERS } from './burst-once';
import { closeAtTheLimit } from './limit';
import {
  closeTimes,
  fillPendingOrders,
  fillProducts,
  settle,
  SKU_AT,
  untilFolded,
} from './orders-table';
import { startLastcall } from './processes';
import { flatGoal, type Question } from './question';
import { median } from './statistics';
import { openTimeouts } from './timeouts';
import { until } from './until';
import { createWorld, type World } from './world';

const FINISHED = [0, 1_000_000, 10_000_000];
const QUICK_FINISHED = [0, 50_000];
const DUE = 20_000;
const CHUNK = 500_000;
const SWEEPS = 200;
const CUSTOMERS = 100_000;
/** Each closes for a fifth of a second: two that are disturbed would be the median of three. */
const TURNS_A_ROUND = 3;
/** To write orders down beside ten million others, and to start a worker. */
const LEAD_S = 15;
const QUICK_LEAD_S = 6;

export const growth: Question = {
  name: 'growth',
  asks: 'Do claiming and sweeping slow down as finished orders pile up?',
  async answer({ servers, rounds, quick, say }) {
    const turns = quick ? 1 : TURNS_A_ROUND * rounds;
    const world = await createWorld(servers);
    try {
      await fillProducts(world);
      const rows = [];
      let there = 0;
      for (const finished of quick ? QUICK_FINISHED : FINISHED) {
        for (; there < finished; there += Math.min(CHUNK, finished - there)) {
          await fillFinished(world, Math.min(CHUNK, finished - there));
        }
        const sweeps: number[] = [];
        const claims: number[] = [];
        const workers: number[] = [];
        for (let i = 0; i < turns; i++) {
          await fillPendingOrders(world, { count: DUE, dueInS: -1 });
          await settle(world);
          sweeps.push(await timeSweep(world));
          claims.push((1_000 * (await closeAtTheLimit(world, 1_000))) / DUE);
          workers.push(await timeWorker(world, quick ? QUICK_LEAD_S : LEAD_S));
        }
        const row = { sweep: median(sweeps), claim: median(claims), worker: median(workers) };
        const [sweep, close, whole] = [row.sweep, row.claim, row.worker].map(Math.round);
        say(
          `${finished} finished: a sweep ${sweep} us, an order ${close} us, by a worker ${whole} us`,
        );
        rows.push({ finished, ...row });
      }
      const [first] = rows as [(typeof rows)[number]];
      const worst = Math.max(
        ...rows.flatMap(({ sweep, claim, worker }) => [
          sweep / first.sweep,
          claim / first.claim,
          worker / first.worker,
        ]),
      );
      return {
        tables: [
          {
            title: `${DUE.toLocaleString('en-US')} orders due, beside so many finished ones`,
            columns: [
              'finished orders',
              'a sweep, us',
              'claim and close, us an order',
              'a worker, us an order',
            ],
            rows: rows.map((row) => [row.finished, row.sweep, row.claim, row.worker]),
            note: `Medians of ${turns}. The sweep is that of a kind of which nothing is due; claiming and closing is the batch SQL alone, so that nothing hides its growth; a worker closes as many by itself, counted from their deadline to the last commit.`,
          },
        ],
        charts: [
          {
            name: 'growth',
            title: 'Closing beside finished orders',
            kind: 'lines',
            xTitle: 'finished orders in the table',
            yTitle: 'us an order',
            points: rows.map((row) => ({
              series: 'claim and close',
              x: row.finished,
              y: row.claim,
            })),
          },
        ],
        goals: [flatGoal(worst)],
      };
    } finally {
      await world.close();
    }
  },
};

async function fillFinished({ pool }: World, count: number): Promise<void> {
  await pool.query(
    `WITH made AS (
       INSERT INTO orders (id, customer_id, status, close_reason, amount, currency, version,
                           late_payment, created_at, pay_by, closes_at, closed_at)
       SELECT uuidv7(), 'customer-' || i % ${CUSTOMERS}, 'closed', 'payment_timeout', 3000, 'EUR', 2,
              'refund', now(), now(), now(), now() FROM generate_series(1, $1::int) AS i
       RETURNING id
     )
     INSERT INTO order_items (order_id, sku, quantity, unit_price)
     SELECT id, ${SKU_AT('n')}, 1, 1000 FROM made, (VALUES (1), (2)) AS line (n)`,
    [count],
  );
}

/** A sweep of a kind of which nothing is due, beside all that is: microseconds. */
async function timeSweep(world: World): Promise<number> {
  const open = await openTimeouts(world, 'receipt', nothingDue);
  try {
    const times = [];
    for (let i = 0; i < SWEEPS; i++) {
      const startedMs = performance.now();
      await open.timeouts.runSweep();
      times.push(1_000 * (performance.now() - startedMs));
    }
    return median(times);
  } finally {
    await open.close();
  }
}

const nothingDue: DeadlineHandler = {
  maxBatch: 1,
  lockKey: () => undefined,
  handle: () => Promise.reject(new Error('No order that is delivered was written down')),
};

/** As many closed by a worker that has just started: microseconds an order. */
async function timeWorker(world: World, leadS: number): Promise<number> {
  await fillPendingOrders(world, { count: WARM_UP_ORDERS, dueInS: leadS - WARM_UP_AHEAD_S });
  const dueAt = await fillPendingOrders(world, { count: DUE, dueInS: leadS });
  await settle(world);
  const worker = await startLastcall(world, { settings: { ROLES: 'worker' } });
  const isInTime = dueAt.getTime() - Date.now() > 1_000;
  await until('all are closed', async () => {
    const [row] = await world.rows<{ isOver: boolean }>(
      `SELECT NOT EXISTS (SELECT FROM near_deadlines WHERE kind = 'payment') AS "isOver"`,
    );
    return row?.isOver === true;
  });
  const { perSecond } = await closeTimes(world, dueAt);
  // None of it is left to the turn after this one.
  await untilFolded(world);
  await worker.stop();
  return isInTime ? 1_000_000 / perSecond : timeWorker(world, 2 * leadS);
}
