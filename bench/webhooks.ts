import { randomUUID } from 'node:crypto';
import { signedHeaders, signingKey } from '../apps/sandbox/src/webhook-signature';
import { cpuMicrosEach } from './cpu';
import { loadApi, type LoadResult, orderRequests } from './load';
import { fillPendingOrders, fillProducts, settle } from './orders-table';
import { startLastcall } from './processes';
import { type BenchOptions, CPU_COLUMNS, cpuCells, type Question, ratioGoal } from './question';
import { medianOf } from './statistics';
import { createWorld, WEBHOOK_SECRET, type World } from './world';

const KEY = signingKey(WEBHOOK_SECRET);
const PAYMENTS = 150_000;
const CONNECTIONS = 200;
const SECONDS = 8;
const WARM_UP = 10_000;
const QUICK_WARM_UP = 400;
/** Half of 9.7: a webhook took 687 us where such a request took 71, on the day this goal was set. */
const MOST_FASTIFIES = 4.8;

export const webhooks: Question = {
  name: 'webhooks',
  asks: 'How many payment webhooks are verified, stored and applied over HTTP?',
  async answer(options) {
    const results: LoadResult[] = [];
    const bare: LoadResult[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      results.push(await payOnce(options));
      bare.push(await answerOnce(options));
    }
    const microsOf = ({ cpu, answered }: LoadResult): number => cpuMicrosEach(cpu, answered);
    return {
      tables: [
        {
          title: `payment.succeeded, each for another order, ${CONNECTIONS} connections`,
          columns: ['what', 'a second', 'p50, ms', 'p99, ms', 'failed', ...CPU_COLUMNS],
          rows: (
            [
              ['webhooks', results],
              ['requests to bare Fastify that does nothing', bare],
            ] as const
          ).map(([name, all]) => [
            name,
            Math.round(medianOf(all, (one) => one.perSecond)),
            medianOf(all, (one) => one.p50Ms),
            medianOf(all, (one) => one.p99Ms),
            all.reduce((sum, one) => sum + one.failed, 0),
            ...cpuCells((all[0] as LoadResult).cpu, (all[0] as LoadResult).answered),
          ]),
          note: 'An answer means: signature checked, stored, the payment recorded, the order paid with its event, stock and next deadline, committed.',
        },
      ],
      goals: [
        ratioGoal(
          `CPU of a webhook against that of a request to bare Fastify: at most ${MOST_FASTIFIES}`,
          results.map((one, round) => microsOf(one) / microsOf(bare[round] as LoadResult)),
          { most: MOST_FASTIFIES },
        ),
      ],
    };
  },
};

async function payOnce({ servers, quick, say }: BenchOptions): Promise<LoadResult> {
  const world = await createWorld(servers);
  try {
    await fillProducts(world);
    await fillPendingOrders(world, { count: quick ? 20_000 : PAYMENTS, dueInS: 600 });
    const payments = await openPayments(world);
    await settle(world);
    const api = await startLastcall(world);
    try {
      const next = notices(payments);
      const load = (much: { requests: number } | { seconds: number }) =>
        loadApi(world, api, { connections: CONNECTIONS, ...much }, next);
      const warm = await load({ requests: quick ? QUICK_WARM_UP : WARM_UP });
      const result = await load({ seconds: quick ? 1 : SECONDS });
      await assertApplied(world, warm.answered + result.answered);
      say(`webhooks: ${Math.round(result.perSecond)}/s, p99 ${result.p99Ms} ms`);
      return result;
    } finally {
      await api.stop();
    }
  } finally {
    await world.close();
  }
}

/** What HTTP alone takes here and now. */
async function answerOnce({ servers, quick }: BenchOptions): Promise<LoadResult> {
  const world = await createWorld(servers);
  try {
    const api = await startLastcall(world, { program: 'bare-fastify' });
    try {
      const next = await orderRequests('cold');
      return await loadApi(world, api, { connections: CONNECTIONS, seconds: quick ? 1 : 4 }, next);
    } finally {
      await api.stop();
    }
  } finally {
    await world.close();
  }
}

async function openPayments(world: World): Promise<string[]> {
  const rows = await world.rows<{ id: string }>(
    `INSERT INTO payments (id, order_id, provider, provider_payment_id, amount, currency, expires_at)
     SELECT p.id, o.id, 'sandbox', 'provider-' || p.id, amount, currency, closes_at
       FROM (SELECT *, uuidv7() AS id FROM (SELECT id AS order_id FROM orders ORDER BY id) AS n) AS p
       JOIN orders o ON o.id = p.order_id
     RETURNING id`,
  );
  return rows.map(({ id }) => id);
}

function notices(
  payments: readonly string[],
): () => Parameters<typeof loadApi>[3] extends () => infer R ? R : never {
  let sent = 0;
  return () => {
    const paymentId = payments[sent++];
    if (paymentId === undefined) throw new Error('All orders are paid: give the benchmark more');
    const body = JSON.stringify({
      type: 'payment.succeeded',
      data: {
        providerPaymentId: `provider-${paymentId}`,
        reference: paymentId,
        amount: 3_000,
        currency: 'EUR',
        paidAt: new Date().toISOString(),
      },
    });
    const id = `evt_${randomUUID()}`;
    return {
      method: 'POST',
      path: '/v1/webhooks/sandbox',
      headers: {
        'content-type': 'application/json',
        ...signedHeaders(KEY, id, body, Date.now()),
      },
      body,
    };
  };
}

/** Every webhook that was answered has paid its order; more may have, whose answer came too late. */
async function assertApplied(world: World, answered: number): Promise<void> {
  const [row] = await world.rows<{ paid: number; processed: number }>(
    `SELECT (SELECT count(*)::int FROM orders WHERE status = 'paid') AS paid,
            (SELECT count(*)::int FROM webhook_events WHERE status = 'processed') AS processed,
            (SELECT string_agg(DISTINCT result, ', ') FROM webhook_events) AS results`,
  );
  if (row && row.paid >= answered && row.processed >= answered) return;
  throw new Error(`${answered} webhooks were answered, but ${JSON.stringify(row)}`);
}
