import { until } from '../support/until';
import { allowed, slowness } from '../support/slowness';
import { assert, type Fault, type Step } from './fault';
import { pause } from './load';
import { at, probe } from './placing-probe';

const CALM_MS = 10_000;
const LOOK_EVERY_MS = 20;
const FLUSH_MS = 100;
/** A group waits for a flush under way, for that of the group before it, and for its own. */
const FLUSHES = 3;
/** Beside those: the group, the answer, the noise. */
const PLACED_WITHIN_MS = 150;
const LATE_S = 1;
const HELD = 'TEA-D';

export const DISK_FAULTS: readonly Fault[] = [
  {
    area: 'Postgres',
    name: 'a disk that takes 100 ms longer for each flush of the log',
    quick: true,
    run: async (step) => {
      await assertWaitsAreSeen(step);
      const calm = await probe(step, pause(CALM_MS));
      await flushIn(step, FLUSH_MS);
      const since = await step.now();
      const over = step.lasting(60_000, 12_000);
      const [placing, waits] = await Promise.all([
        probe(step, over),
        productWaitsUntil(step, over),
      ]);
      const { handled, mostS } = await step.lateness(since);
      await step.heal(() => flushIn(step, 0));
      assert(waits.length === 0, `who waited for a product: ${waits.join('; ')}`);
      assert(handled > 0 && mostS <= LATE_S * slowness(), `${handled} closed, ${mostS} s late`);
      const refused = placing.filter(({ status }) => status !== 201).length;
      assert(refused === 0, `${refused} were refused`);
      const limitMs = at(0.5, calm) + allowed(FLUSHES * FLUSH_MS + PLACED_WITHIN_MS);
      const said = `placing took ${at(0.5, calm)} ms (p50) before, ${at(0.99, placing)} ms (p99) meanwhile`;
      assert(at(0.99, placing) <= limitMs, `${said}: more than ${limitMs} ms`);
      return `nobody waited for a product’s row; ${handled} orders closed, ${Math.round(1_000 * mostS)} ms late at the most; ${said}`;
    },
  },
];

/** Postgres' own delay before each flush; all who commit meanwhile wait for it, as for a disk. */
async function flushIn({ rig }: Step, delayMs: number): Promise<void> {
  await rig.rows(`ALTER SYSTEM SET commit_delay = ${delayMs * 1_000}`);
  await rig.rows('ALTER SYSTEM SET commit_siblings = 0');
  await rig.rows('SELECT pg_reload_conf()');
}

async function productWaitsUntil(step: Step, over: Promise<void>): Promise<string[]> {
  const seen = new Set<string>();
  let isOver = false;
  void over.then(() => (isOver = true));
  while (!isOver) {
    for (const wait of await productWaits(step)) seen.add(wait);
    await pause(LOOK_EVERY_MS);
  }
  return [...seen];
}

/** Who waits for a product's row: with what, for whom, and what that one does. */
async function productWaits({ rig }: Step): Promise<string[]> {
  const rows = await rig.rows<{ line: string }>(
    `SELECT concat_ws(' ', w.application_name, left(w.query, 60), 'for', b.application_name,
                      b.wait_event, left(b.query, 60)) AS line
       FROM pg_stat_activity w, unnest(pg_blocking_pids(w.pid)) AS by, pg_stat_activity b
      WHERE w.wait_event_type = 'Lock' AND b.pid = by
        AND EXISTS (SELECT FROM pg_locks AS l
                     WHERE l.pid = w.pid AND l.locktype = 'tuple' AND l.relation = 'products'::regclass)`,
  );
  return rows.map(({ line }) => line);
}

/** That nobody is seen to wait means nothing unless somebody would be. */
async function assertWaitsAreSeen(step: Step): Promise<void> {
  const [holder, waiter] = [await step.rig.pool.connect(), await step.rig.pool.connect()];
  const lock = 'SELECT 1 FROM products WHERE sku = $1 FOR UPDATE';
  try {
    await holder.query('BEGIN');
    await holder.query(lock, [HELD]);
    const waiting = waiter.query(lock, [HELD]);
    await until(
      "a wait for a product's row is seen",
      async () => (await productWaits(step)).length > 0,
    );
    await holder.query('ROLLBACK');
    await waiting;
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
    waiter.release();
  }
}
