import { alarmFor } from '@app/timeout';
import { Redis } from 'ioredis';
import { insertOrders, insertProduct } from '../support/insert-orders';
import { until } from '../support/until';
import { assert, type Fault, type Step, USUAL_PROCESSES } from './fault';
import { allowed } from '../support/slowness';
import { areClosed, countOpen } from './open-orders';
import { place } from './placing-probe';

const SLOT_MS = 100;
const CROWD = 2_000;
/** So many are placed by customers: those have alarms, which can vanish. */
const PLACED = 20;
/** So late is what a look of a worker counts as missed: MISSED_MS of libs/timeout/src/sweeping/sweep.ts. */
const MISSED_MS = 500;
/** All are due before the first is missed: whoever misses it arms what comes due later. */
const SPAN_MS = 200;
/** What it takes to be missed, the looks of each worker, and the drain. The next sweep is half a minute away at least. */
const LOST_ALARM_LIMIT_MS = 2_500;

export const ALARM_FAULTS: readonly Fault[] = [
  {
    area: 'Alarms',
    name: 'all alarms vanish, and 2,000 orders never had any, long before the next sweep',
    run: loseAlarms,
  },
];

async function loseAlarms(step: Step): Promise<string> {
  const { rig } = step;
  // Any ring takes all that is due: nobody may arm one.
  await step.load.stop();
  await until('nothing is open', async () => (await countOpen(step)) === 0, 60_000);
  const env = { SWEEP_INTERVAL: '55s', PAYMENT_WINDOW: '8s' };
  for (const { name, roles } of USUAL_PROCESSES) {
    await rig.process(name).stop();
    await rig.start({ name, roles, env });
  }
  await insertProduct(rig);
  await Promise.all(Array.from({ length: PLACED }, () => place(step, 'TEA-A')));
  const lost = await loseArmed(step);
  const firstInMs = await nextDueInMs(step);
  const closesInMs = Array.from({ length: CROWD }, (_, n) => firstInMs + (n * SPAN_MS) / CROWD);
  await insertOrders(rig, { count: CROWD, closesInMs });
  const inTimeMs = await nextDueInMs(step);
  assert(inTimeMs > 0, `this machine is too busy: all were there ${-inTimeMs} ms too late`);
  const [due] = await rig.rows<{ first: Date; ms: string; ids: string[] }>(
    `SELECT min(closes_at) AS first, array_agg(id) AS ids,
            extract(epoch FROM max(closes_at) - min(closes_at)) * 1000 AS ms
       FROM orders WHERE status = 'pending_payment'`,
  );
  const { first, ms: apartMs, ids } = due as { first: Date; ms: string; ids: string[] };
  assert(Number(apartMs) < MISSED_MS, `this machine is too busy: they are due ${apartMs} ms apart`);
  await until('all are closed', () => areClosed(step, ids), 60_000);
  const lateMs = await latest(step, ids);
  const [unrung] = await rig.rows<{ n: number; swept: number }>(
    `SELECT count(*)::int AS n, count(*) FILTER (WHERE e.by = 'sweep')::int AS swept
       FROM orders o JOIN order_events e ON e.order_id = o.id AND e.to_status = 'closed'
      WHERE o.id = ANY ($1::uuid[]) AND o.closes_at < $2::timestamptz + $3 * interval '1 millisecond'`,
    [ids, first, MISSED_MS],
  );
  const { n = 0, swept = 0 } = unrung ?? {};
  for (const { name } of USUAL_PROCESSES) await rig.process(name).stop();
  await step.backToUsual();
  await step.heal();
  const seen = `${lost} alarms lost; ${swept} of ${n} closed by a look at what was missed, the latest ${lateMs} ms late`;
  assert(n > CROWD && swept === n && lateMs >= MISSED_MS, seen);
  assert(lateMs <= allowed(LOST_ALARM_LIMIT_MS), seen);
  return seen;
}

/** Waits until all that is due will ring, and takes that away; answers with how many alarms those were. */
async function loseArmed({ rig }: Step): Promise<number> {
  const due = await rig.rows<{ at: Date }>(
    `SELECT due_at AS at FROM deadlines WHERE kind = 'payment'`,
  );
  const alarms = due.map(({ at: dueAt }) =>
    alarmFor({ kind: 'payment', subjectId: '', dueAt, version: 1 }, SLOT_MS),
  );
  assert(alarms.length >= PLACED, `only ${alarms.length} of ${PLACED} orders were placed`);
  const redis = new Redis(rig.redisUrl);
  try {
    const [delayed, ids] = await until('all alarms are armed', async () => {
      const keys = await redis.keys('*:delayed');
      const armed = (await Promise.all(keys.map((key) => redis.zrange(key, 0, -1)))).flat();
      return alarms.every(({ id }) => armed.includes(id)) ? ([keys, armed] as const) : undefined;
    });
    await redis.del(...delayed);
    return ids.length;
  } finally {
    redis.disconnect();
  }
}

async function nextDueInMs({ rig }: Step): Promise<number> {
  const [row] = await rig.rows<{ ms: string }>(
    `SELECT extract(epoch FROM min(closes_at) - clock_timestamp()) * 1000 AS ms FROM orders
      WHERE status = 'pending_payment'`,
  );
  return Math.round(Number(row?.ms));
}

async function latest({ rig }: Step, ids: readonly string[]): Promise<number> {
  const [row] = await rig.rows<{ ms: string }>(
    `SELECT extract(epoch FROM max(closed_at - closes_at)) * 1000 AS ms FROM orders
      WHERE id = ANY ($1::uuid[])`,
    [ids],
  );
  return Math.round(Number(row?.ms));
}
