import { randomUUID } from 'node:crypto';
import { insertOrders } from '../support/insert-orders';
import { until } from '../support/until';
import { assert, type Fault, type Step, USUAL_PROCESSES } from './fault';
import type { Answer } from './experience';
import { pause } from './load';

const OLD = 100_000;
const YOUNG = 1_000;
const CHUNK = 10_000;
const HOUR_MS = 3_600_000;
const PROBE_EVERY_MS = 20;

const CALM_MS = 8_000;
const ROUNDS = 3;

const RELAY_LIMIT_MS = 60_000;
/** Below that, doubling is noise. */
const NOISE_MS = 50;

interface Round {
  /** The 99th percentiles of placing an order, in milliseconds. */
  readonly calm: number;
  readonly meanwhile: number;
  readonly closedS: number;
  readonly relayedS: number;
  /** What part of all was closed when the first of the youngest was. */
  readonly youngestAfter: number;
}

export const BURST: Fault = {
  area: 'Burst',
  name: '100,000 orders due in the same second, an hour ago, while customers go on',
  run: async (step) => {
    await withoutProxies(step);
    await probe(step, pause(CALM_MS)); // they have just started
    const rounds = [await runRound(step)];
    // Once is enough: to look through three times as many orders takes three times as long.
    await step.heal();
    while (rounds.length < ROUNDS) rounds.push(await runRound(step));
    await step.rig.stopAll();
    await step.backToUsual();
    const all = (of: keyof Round): string => rounds.map((round) => round[of]).join(', ');
    const early = rounds.filter(({ youngestAfter }) => youngestAfter < 90);
    assert(early.length === 0, `the youngest came after ${all('youngestAfter')}% of all`);
    const p99s = `p99 of placing ${all('calm')} ms before, ${all('meanwhile')} ms meanwhile`;
    const limitMs = 2 * Math.max(NOISE_MS, median(rounds, 'calm'));
    assert(median(rounds, 'meanwhile') <= limitMs, p99s);
    return `closed in ${all('closedS')} s and relayed in ${all('relayedS')} s, the youngest after ${all('youngestAfter')}% of all; ${p99s}`;
  },
};

/** This row breaks no connection, and the proxies would take their share of these cores. */
async function withoutProxies({ rig }: Step): Promise<void> {
  const env = { DATABASE_URL: rig.databaseUrl, REDIS_URL: rig.redisUrl };
  await rig.stopAll();
  for (const usual of USUAL_PROCESSES) await rig.start({ ...usual, env });
}

async function runRound(step: Step): Promise<Round> {
  const calm = await probe(step, pause(CALM_MS));
  const placed = await placeOverdue(step);
  const startedMs = performance.now();
  const sinceStartS = (): number => Math.round((performance.now() - startedMs) / 100) / 10;
  const meanwhile = await probe(step, allClosed(step, placed));
  const closedS = sinceStartS();
  // Closing comes first; then the shop hears of two hundred thousand events.
  await until('all is relayed', () => step.isRelayed(), RELAY_LIMIT_MS);
  const relayedS = sinceStartS();
  const [order] = await step.rig.rows<{ share: number }>(
    `WITH closings AS (
       SELECT o.closes_at < now() - interval '30 minutes' AS old,
              percent_rank() OVER (ORDER BY e.id) AS place
         FROM order_events e JOIN orders o ON o.id = e.order_id
        WHERE o.id = ANY ($1::uuid[]) AND e.to_status = 'closed')
     SELECT min(place)::float8 AS share FROM closings WHERE NOT old`,
    [placed],
  );
  const youngestAfter = Math.round((order?.share ?? 0) * 100);
  return { calm, meanwhile, closedS, relayedS, youngestAfter };
}

function median(rounds: readonly Round[], of: keyof Round): number {
  const sorted = rounds.map((round) => round[of]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}

/** Committed at once, so that the next sweep finds them all. */
async function placeOverdue({ rig }: Step): Promise<string[]> {
  const client = await rig.pool.connect();
  const sql = {
    rows: async <T>(text: string, params: readonly unknown[] = []): Promise<T[]> =>
      (await client.query(text, [...params])).rows as T[],
  };
  const ids: string[] = [];
  try {
    await client.query('BEGIN');
    for (let left = OLD; left > 0; left -= CHUNK) {
      const orders = await insertOrders(sql, { count: CHUNK, closesInMs: -HOUR_MS });
      ids.push(...orders.map(({ id }) => id));
    }
    const young = await insertOrders(sql, { count: YOUNG, closesInMs: -1_000 });
    ids.push(...young.map(({ id }) => id));
    await client.query('COMMIT');
    return ids;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

async function allClosed({ rig }: Step, ids: readonly string[]): Promise<void> {
  for (;;) {
    const [row] = await rig.rows<{ some: boolean }>(
      `SELECT EXISTS (SELECT FROM deadlines WHERE kind = 'payment' AND subject_id = ANY ($1::uuid[]))
           OR EXISTS (SELECT FROM deadlines WHERE kind = 'payment'
                         AND due_at < now() - interval '30 minutes') AS some`,
      [ids.slice(-YOUNG)],
    );
    if (row?.some === false) return;
    await pause(200);
  }
}

/** How long it took; one that is refused is no fast one. */
function tookToPlace({ status, tookMs }: Answer): number {
  assert(status === 201, `placing an order is answered with ${status}`);
  return tookMs;
}

/** The 99th percentile of placing an order, in milliseconds, until `over`. */
async function probe({ client }: Step, over: Promise<void>): Promise<number> {
  let isOver = false;
  void over.then(() => (isOver = true));
  const calls: Promise<number>[] = [];
  while (!isOver) {
    const body = { items: [{ sku: 'TEA-A', quantity: 1 }] };
    const headers = { 'idempotency-key': randomUUID() };
    calls.push(client.api('POST /v1/orders', { body, headers }).then(tookToPlace));
    await pause(PROBE_EVERY_MS);
  }
  await over;
  const tookMs = (await Promise.all(calls)).sort((a, b) => a - b);
  return tookMs[Math.floor(tookMs.length * 0.99)] ?? 0;
}
