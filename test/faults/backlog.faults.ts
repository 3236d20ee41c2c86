import { randomUUID } from 'node:crypto';
import { alarmFor, DatabaseClock } from '@app/timeout';
import { BullmqDriver } from '../../libs/timeout/src/bullmq';
import { createDataSource } from '@app/orders';
import { insertOrders, insertProduct } from '../support/insert-orders';
import { until } from '../support/until';
import { assert, type Fault, type Step } from './fault';
import { allowed, slowness } from '../support/slowness';
import { pause } from './load';
import { SWEEP_MS } from './rig';

const CHUNK = 10_000;
/** As many as a quick machine closes in minutes have to be in stock. */
const PLENTY = { sku: 'MANY', onHand: 1_000_000_000 };
/** What is promised, on a machine of one's own. */
const OTHERS_LAG_MS = 500;
const OTHERS_EVERY_MS = 50;
const SLOT_MS = 100;

const BURST_OF = 100_000;
const OVERDUE_AT_SIGTERM = 300_000;
const STOPPED_WITHIN_MS = 5_000;

const MEASURED_BY = 30_000;
const RATE = 0.7;
const PAUSE_MS = 60_000;
/** What comes due after the pause is not later than what came due as it began, but for what may be lent to others. */
const LATE_AT_MOST_MS = 1.2 * PAUSE_MS;
/**
 * Each way between the processes and Postgres. What is due in a minute's pause, and until the lag is gone,
 * is five minutes' worth of all that can be closed: millions where Postgres is beside them. From here the
 * round trips of a batch alone take longer than a batch is to take, so that batches are as small as they
 * get, and a quick machine closes about as many as a slow one.
 */
const DATABASE_AWAY_MS = 40;

export const BACKLOG_FAULTS: readonly Fault[] = [
  {
    area: 'Backlog',
    name: '100,000 orders due at once: the other kinds ring and sweep as if there were none',
    run: othersInABurst,
  },
  {
    area: 'Backlog',
    name: 'all workers pause while 70% of what can be closed comes due',
    run: (step) => {
      step.rig.postgres.delay(DATABASE_AWAY_MS);
      return pauseAtSeventyPercent(step).finally(() => step.rig.postgres.delay(0));
    },
  },
  {
    area: 'Backlog',
    name: 'SIGTERM with 300,000 overdue',
    run: stopAmidBacklog,
  },
];

/** So many orders at once, due as `closesInMs` says; answers with how long that took, in milliseconds. */
async function place(
  step: Step,
  count: number,
  closesInMs: (n: number) => number,
): Promise<number> {
  const startedMs = performance.now();
  const client = await step.rig.pool.connect();
  const sql = {
    rows: async <T>(text: string, params: readonly unknown[] = []): Promise<T[]> =>
      (await client.query(text, [...params])).rows as T[],
  };
  try {
    await client.query('BEGIN');
    await insertProduct(sql, PLENTY.sku, PLENTY.onHand);
    for (let from = 0; from < count; from += CHUNK) {
      const offsets = Array.from({ length: Math.min(CHUNK, count - from) }, (_, n) =>
        Math.round(closesInMs(from + n)),
      );
      await insertOrders(sql, {
        ...{ count: offsets.length, closesInMs: offsets },
        sku: PLENTY.sku,
      });
    }
    await client.query('COMMIT');
    return performance.now() - startedMs;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

async function overdue({ rig }: Step): Promise<{ n: number; lagMs: number }> {
  const [row] = await rig.rows<{ n: string; lag: string | null }>(
    `SELECT count(*) AS n, extract(epoch FROM now() - min(due_at)) * 1000 AS lag
       FROM deadlines WHERE kind = 'payment' AND due_at <= now()`,
  );
  return { n: Number(row?.n ?? 0), lagMs: Math.max(0, Number(row?.lag ?? 0)) };
}

const noneOverdue = (step: Step) => async (): Promise<boolean> => {
  await pause(100);
  return (await overdue(step)).n < 100;
};

/** Deadlines of another kind, an alarm each, until `over`: how late each of them was handled. */
async function lagsOfOthers(step: Step, over: Promise<void>): Promise<number[]> {
  const dataSource = await createDataSource(
    { DATABASE_URL: step.rig.databaseUrl },
    'probe',
  ).initialize();
  const driver = new BullmqDriver({
    redis: step.rig.redisUrl,
    prefix: '{lc:alarms}',
    databaseClock: new DatabaseClock(dataSource),
    onError: (error: Error) => void console.error(error.message),
  });
  let isOver = false;
  void over.then(() => (isOver = true));
  const waiting = new Map<string, number>();
  const lags: number[] = [];
  const collect = async (): Promise<void> => {
    const rows = await step.rig.rows<{ id: string; now_ms: string }>(
      `SELECT id, extract(epoch FROM clock_timestamp()) * 1000 AS now_ms
         FROM unnest($1::uuid[]) AS id
        WHERE NOT EXISTS (SELECT FROM deadlines WHERE kind = 'receipt' AND subject_id = id)`,
      [[...waiting.keys()]],
    );
    for (const { id, now_ms: nowMs } of rows) {
      lags.push(Number(nowMs) - (waiting.get(id) as number));
      waiting.delete(id);
    }
  };
  try {
    while (!isOver) {
      const subjectId = randomUUID();
      const [row] = await step.rig.rows<{ due_at: Date }>(
        `INSERT INTO deadlines (kind, due_at, subject_id)
         VALUES ('receipt', now() + interval '300 ms', $1) RETURNING due_at`,
        [subjectId],
      );
      const dueAt = (row as { due_at: Date }).due_at;
      await driver.arm([alarmFor({ kind: 'receipt', subjectId, dueAt, version: 1 }, SLOT_MS)]);
      waiting.set(subjectId, dueAt.getTime());
      await collect();
      await pause(OTHERS_EVERY_MS);
    }
    await until('the others are handled', async () => {
      await collect();
      return waiting.size === 0;
    });
    return lags.sort((a, b) => a - b);
  } finally {
    await driver.stop();
    await dataSource.destroy();
  }
}

async function othersInABurst(step: Step): Promise<string> {
  await place(step, BURST_OF, () => 3_000);
  // The dead, of rows before this one, have left theirs in the table.
  const living = ['worker-1', 'worker-2'].map((name) => step.rig.process(name).pid);
  let mostSilentMs = 0;
  const closed = (async (): Promise<void> => {
    await pause(3_000);
    await until(
      'the burst is closed',
      async () => {
        await pause(50);
        const beats = await step.rig.rows<{ silent: string }>(
          `SELECT extract(epoch FROM now() - swept_at) * 1000 AS silent
             FROM workers WHERE pid = ANY ($1)`,
          [living],
        );
        assert(beats.length === living.length, `${beats.length} of ${living.length} workers beat`);
        mostSilentMs = Math.max(mostSilentMs, ...beats.map(({ silent }) => Number(silent)));
        return (await overdue(step)).n < 100;
      },
      120_000,
    );
  })();
  const lags = await lagsOfOthers(step, closed);
  const p = (share: number): number => Math.round(lags[Math.floor(lags.length * share)] ?? 0);
  const seen = `${lags.length} deadlines of another kind: p50 ${p(0.5)} ms, p99 ${p(0.99)} ms late; heartbeats at most ${Math.round(mostSilentMs)} ms apart`;
  assert(p(0.99) <= allowed(OTHERS_LAG_MS), seen);
  assert(mostSilentMs <= allowed(2 * SWEEP_MS), seen);
  await step.heal();
  return seen;
}

async function pauseAtSeventyPercent(step: Step): Promise<string> {
  // Due as they are committed, and so seen by the next alarm of the load.
  const placedMs = await place(step, MEASURED_BY, () => -1);
  const startedMs = performance.now();
  await until('the capacity is measured', noneOverdue(step), 120_000);
  const perMs = MEASURED_BY / (performance.now() - startedMs);
  // Nothing beats it: what came due in the pause, by what is left of the capacity.
  const bestMs = (PAUSE_MS * RATE) / (1 - RATE);
  const lastsMs = PAUSE_MS + 1.5 * bestMs;
  const count = Math.round(perMs * RATE * lastsMs);
  // The first of them is due when all are placed.
  const leadMs = 10_000 + (2 * placedMs * count) / MEASURED_BY;
  const lateMs = (await place(step, count, (n) => leadMs + n / (perMs * RATE))) - leadMs;
  assert(lateMs < 0, `this machine places too slowly: ${Math.round(lateMs)} ms late`);
  await pause(-lateMs);
  const workers = ['worker-1', 'worker-2'].map((name) => step.rig.process(name));
  for (const worker of workers) worker.signal('SIGSTOP');
  await pause(PAUSE_MS);
  for (const worker of workers) worker.signal('SIGCONT');
  const resumedMs = performance.now();
  let worstMs = 0;
  await until(
    'the lag is under a second again',
    async () => {
      await pause(100);
      const { lagMs } = await overdue(step);
      worstMs = Math.max(worstMs, lagMs);
      // Whatever the load: where there is too much of it for this row, that shows here as well.
      assert(worstMs <= LATE_AT_MOST_MS, slowedDown(worstMs));
      return performance.now() - resumedMs > 2_000 && lagMs < 1_000;
    },
    allowed(1.5 * bestMs + 5_000),
  );
  const tookS = ((performance.now() - resumedMs) / 1_000).toFixed(1);
  await until('all is closed', noneOverdue(step), 120_000);
  const toldS = await allToldOf(step);
  await step.heal();
  return `${count} orders at ${Math.round(perMs * RATE * 1_000)}/s, ${Math.round(perMs * 1_000)}/s measured; at most ${(worstMs / 1_000).toFixed(1)} s late, under 1 s again ${tookS} s after a pause of ${PAUSE_MS / 1_000} s, Postgres ${DATABASE_AWAY_MS} ms away (at best ${(bestMs / 1_000).toFixed(1)} s), all told of ${toldS} s after the last`;
}

const slowedDown = (lateMs: number): string =>
  `${(lateMs / 1_000).toFixed(1)} s late after a pause of ${PAUSE_MS / 1_000} s: closing slows down while the lag grows, or this machine is too busy (${slowness()} want each core)`;

/** A burst is closed first, and told of afterwards. Resolves with how long that took, in seconds. */
async function allToldOf(step: Step): Promise<string> {
  const startedMs = performance.now();
  await until('the events are relayed', () => step.isRelayed(), 180_000);
  return ((performance.now() - startedMs) / 1_000).toFixed(1);
}

async function stopAmidBacklog(step: Step): Promise<string> {
  const { rig } = step;
  const stopped = rig.process('worker-2');
  await stopped.stop();
  await rig.process('worker-1').stop();
  await place(step, BURST_OF, () => -60_000);
  // The rest are of orders that are gone: quick to handle, and as many.
  await rig.rows(
    `INSERT INTO deadlines (kind, due_at, subject_id)
     SELECT 'payment', now() - interval '30 s', gen_random_uuid()
       FROM generate_series(1, $1::int)`,
    [OVERDUE_AT_SIGTERM - BURST_OF],
  );
  const worker = await rig.start({ name: 'worker-1', roles: 'worker' });
  await until('it closes', async () => (await overdue(step)).n < OVERDUE_AT_SIGTERM, 60_000);
  const before = await overdue(step);
  const tookMs = await worker.stop();
  const after = await overdue(step);
  assert(after.n > 0, 'all was closed before it could be stopped');
  assert(tookMs <= allowed(STOPPED_WITHIN_MS), `it took ${tookMs} ms to stop`);
  await step.backToUsual();
  await until('the others go on', noneOverdue(step), 180_000);
  await allToldOf(step);
  await step.heal();
  return `ended ${tookMs} ms after SIGTERM with ${before.n} overdue, and left ${after.n} to the next`;
}
