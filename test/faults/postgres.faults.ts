import type { PoolClient } from 'pg';
import { until } from '../support/until';
import type { Answer } from './experience';
import { assert, type Fault, type Step } from './fault';
import { allowed } from '../support/slowness';
import { pause } from './load';

/**
 * "503 fast": the wait for a connection and for locks (2.4 s), a few tries more, and the way there and back. Who
 * is served has waited no longer.
 */
const ANSWERED_WITHIN_MS = 3_500;
const DEADLOCKS_FOR_MS = 12_000;

export const POSTGRES_FAULTS: readonly Fault[] = [
  {
    area: 'Postgres',
    name: 'immediate shutdown (every backend gone), started again',
    quick: true,
    run: async (step) => {
      await step.rig.crashPostgres();
      await step.lasting(5_000, 2_000);
      const startedMs = performance.now();
      await step.rig.startPostgres();
      const recovered = `recovered in ${Math.round(performance.now() - startedMs)} ms`;
      await step.heal();
      return `${recovered}; ${refusals(step)}`;
    },
  },
  {
    area: 'Postgres',
    name: 'every connection reset, five times',
    run: async (step) => {
      for (let time = 0; time < 5; time++) {
        step.rig.postgres.reset();
        await pause(1_000);
      }
      await step.heal();
      return refusals(step);
    },
  },
  {
    area: 'Postgres',
    name: 'no connection is left for 10 s: all of ours are ended, each new one is refused',
    run: refuseConnections,
  },
  {
    area: 'Postgres',
    name: 'pool of the API exhausted by sixty calls on locked orders',
    run: exhaustPool,
  },
  {
    area: 'Postgres',
    name: 'one transaction in five fails: serialization, deadlock, lock timeout',
    quick: true,
    run: async (step) => {
      await step.rig.rows(UNLUCKY_FUNCTION);
      await step.rig.rows(
        `CREATE TRIGGER unlucky BEFORE INSERT OR UPDATE ON orders
           FOR EACH STATEMENT EXECUTE FUNCTION unlucky()`,
      );
      await step.lasting(15_000, 5_000);
      await step.heal(() => step.rig.rows('DROP TRIGGER unlucky ON orders'));
      return refusals(step);
    },
  },
  {
    area: 'Postgres',
    name: 'somebody locks payments before their orders: real deadlocks',
    run: lockBackwards,
  },
  {
    area: 'Postgres',
    name: 'every product locked for 8 s: lock timeouts',
    run: async (step) => {
      const client = await step.rig.pool.connect();
      try {
        await client.query('BEGIN');
        await client.query('SELECT 1 FROM products FOR UPDATE');
        await pause(8_000);
        await step.heal(() => client.query('ROLLBACK'));
      } finally {
        client.release();
      }
      return refusals(step);
    },
  },
];

const UNLUCKY_FUNCTION = `
  CREATE OR REPLACE FUNCTION unlucky() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF random() < 0.2 THEN
      RAISE EXCEPTION 'unlucky' USING ERRCODE = (ARRAY['40001', '40P01', '55P03'])[1 + floor(random() * 3)::int];
    END IF;
    RETURN NULL;
  END $$`;

/** Nobody stopped the API: everybody was answered, and soon. */
function refusals({ client }: Step): string {
  const { refused, slowestRefusedMs, slowestAcceptedMs, unanswered } = client.experience;
  const slowestMs = Math.max(slowestRefusedMs, slowestAcceptedMs);
  assert(slowestMs <= allowed(ANSWERED_WITHIN_MS), `an answer took ${slowestMs} ms`);
  assert(unanswered === 0, `${unanswered} calls were not answered`);
  return `${refused} calls refused, the slowest after ${slowestRefusedMs} ms, the slowest accepted after ${slowestAcceptedMs} ms; all were repeated and done`;
}

/** As where others have all there are: Postgres answers by the same `53300`. */
async function refuseConnections(step: Step): Promise<string> {
  const { rig } = step;
  const since = await step.now();
  await rig.rows('ALTER ROLE lastcall_user CONNECTION LIMIT 0');
  const ended = await rig.rows(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lastcall_user'`,
  );
  await step.lasting(10_000, 4_000);
  const left = await rig.rows(`SELECT FROM pg_stat_activity WHERE usename = 'lastcall_user'`);
  await step.heal(() => rig.rows('ALTER ROLE lastcall_user CONNECTION LIMIT -1'));
  const { handled, mostS } = await step.lateness(since);
  const seen = `${ended.length} connections ended; ${handled} orders closed, at most ${mostS.toFixed(1)} s late`;
  assert(ended.length > 0 && left.length === 0, `${seen}; ${left.length} connections were had`);
  assert(step.client.experience.refused > 0, `${seen}; nobody was refused`);
  return `${seen}; ${refusals(step)}`;
}

/** Sixty cancels of the newest orders wait for their rows; the closers go on with the others. */
async function exhaustPool(step: Step): Promise<string> {
  const client = await step.rig.pool.connect();
  const since = await step.now();
  let calls: Promise<Answer>[] = [];
  try {
    await client.query('BEGIN');
    const { rows: orders } = await client.query<{ id: string; customer_id: string }>(
      `SELECT id, customer_id FROM orders WHERE status = 'pending_payment'
        ORDER BY closes_at DESC LIMIT 30 FOR UPDATE`,
    );
    calls = [...orders, ...orders].map(({ id, customer_id: sub }) =>
      step.client.api(`POST /v1/orders/${id}/cancel`, { sub }),
    );
    assert(calls.length === 60, `only ${orders.length} orders are open`);
    await pause(6_000);
    const closed = await until('the closers go on', async () => {
      const { timer = 0, sweep = 0 } = await step.closedBy(since);
      return timer + sweep;
    });
    // All while the rows are locked: so each has been refused, and none was let through.
    const answers = await Promise.all(calls);
    const slowestMs = Math.max(...answers.map(({ tookMs }) => tookMs));
    const served = answers.filter(({ status }) => status !== 503).map(({ status }) => status);
    assert(served.length === 0, `of sixty calls some were answered with ${served.join(', ')}`);
    assert(
      slowestMs <= allowed(ANSWERED_WITHIN_MS),
      `one of sixty was refused after ${slowestMs} ms`,
    );
    await step.heal(() => client.query('ROLLBACK'));
    return `sixty refused within ${slowestMs} ms; ${closed} other orders closed meanwhile; ${refusals(step)}`;
  } finally {
    client.release(true);
    await Promise.all(calls);
  }
}

/**
 * Products can be locked in any order, as nobody waits for one with another in hand. Who settles a canceled
 * order has the order, and waits for its payment: a neighbour who takes the payment first closes the circle.
 */
async function lockBackwards(step: Step): Promise<string> {
  const { rig } = step;
  const client = await rig.pool.connect();
  const [before, startedMs] = [await deadlocks(step), performance.now()];
  // Lastcall gives way sooner than Postgres looks for circles by default: so it looks early, for us alone.
  await rig.rows(`ALTER SYSTEM SET deadlock_timeout = '50ms'`);
  await rig.rows('SELECT pg_reload_conf()');
  const calls: Promise<unknown>[] = [];
  let theirs = 0;
  try {
    await client.query(`SET deadlock_timeout = '10s'`);
    const [self] = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows;
    while (performance.now() - startedMs < DEADLOCKS_FOR_MS) {
      const orders = await until('orders are being paid', async () => {
        const rows = await rig.rows<{ id: string; customer_id: string }>(
          `SELECT id, customer_id FROM orders o WHERE status = 'pending_payment' AND EXISTS (
             SELECT FROM payments WHERE order_id = o.id AND status = 'open')
            ORDER BY closes_at DESC LIMIT 5`,
        );
        return rows.length > 0 ? rows : undefined;
      });
      const ids = orders.map(({ id }) => id);
      await client.query('BEGIN');
      await client.query('SELECT FROM payments WHERE order_id = ANY ($1::uuid[]) FOR UPDATE', [
        ids,
      ]);
      calls.push(
        ...orders.map(({ id, customer_id: sub }) =>
          step.client.api(`POST /v1/orders/${id}/cancel`, { sub }),
        ),
      );
      await until('somebody waits for one of these payments', async () => {
        const rows = await rig.rows(
          'SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))',
          [self?.pid],
        );
        return rows.length > 0;
      });
      theirs += await locksOrders(client, ids);
    }
  } finally {
    await client.query('ROLLBACK');
    client.release(true);
    await rig.rows('ALTER SYSTEM RESET deadlock_timeout');
    await rig.rows('SELECT pg_reload_conf()');
    await Promise.all(calls);
  }
  await step.heal();
  const ours = (await deadlocks(step)) - before - theirs;
  const seen = `lastcall lost ${ours} deadlocks, the other side ${theirs}`;
  assert(ours > 0, seen);
  return `${seen}; ${refusals(step)}`;
}

/** How often Postgres has ended one of a circle. */
async function deadlocks({ rig }: Step): Promise<number> {
  const [row] = await rig.rows<{ deadlocks: string }>(
    'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
  );
  return Number(row?.deadlocks);
}

/** Answers with 1 where Postgres has ended this transaction for the other's sake. */
async function locksOrders(client: PoolClient, ids: readonly string[]): Promise<number> {
  try {
    await client.query('SELECT FROM orders WHERE id = ANY ($1::uuid[]) FOR UPDATE', [ids]);
    await client.query('COMMIT');
    return 0;
  } catch (error) {
    await client.query('ROLLBACK');
    if ((error as { code?: string }).code !== '40P01') throw error;
    return 1;
  }
}
