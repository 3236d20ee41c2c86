import type { PoolClient } from 'pg';
import { until } from '../support/until';
import { assert, type Fault, type Step } from './fault';
import { slowness } from '../support/slowness';
import { pause } from './load';

/** "503 fast": the wait for a connection (2 s) or for a lock (3 s), and the way there and back. */
const REFUSED_WITHIN_MS = 5_000;

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
    name: 'somebody locks products in the opposite order: real deadlocks',
    run: async (step) => {
      const client = await step.rig.pool.connect();
      let deadlocks = 0;
      try {
        for (const endMs = performance.now() + 12_000; performance.now() < endMs;) {
          deadlocks += await lockBackwards(client);
        }
      } finally {
        client.release();
      }
      await step.heal();
      return `the other side lost ${deadlocks} deadlocks; ${refusals(step)}`;
    },
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

function refusals(step: Step): string {
  const { refused, slowestRefusedMs, unanswered } = step.load.experience;
  assert(slowestRefusedMs <= REFUSED_WITHIN_MS * slowness(), `a 503 took ${slowestRefusedMs} ms`);
  return `${refused} calls refused, the slowest after ${slowestRefusedMs} ms, ${unanswered} cut off; all were repeated and done`;
}

/** Sixty cancels of the newest orders wait for their rows; the closers go on with the others. */
async function exhaustPool(step: Step): Promise<string> {
  const orders = await step.rig.rows<{ id: string; customer_id: string }>(
    `SELECT id, customer_id FROM orders WHERE status = 'pending_payment'
      ORDER BY closes_at DESC LIMIT 30`,
  );
  const client = await step.rig.pool.connect();
  const since = await step.now();
  let calls: Promise<unknown>[] = [];
  try {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM orders WHERE id = ANY ($1::uuid[]) FOR UPDATE', [
      orders.map(({ id }) => id),
    ]);
    calls = [...orders, ...orders].map(({ id, customer_id: sub }) =>
      step.client.api(`POST /v1/orders/${id}/cancel`, { sub }),
    );
    await pause(6_000);
    const closed = await until('the closers go on', async () => {
      const { timer = 0, sweep = 0 } = await step.closedBy(since);
      return timer + sweep;
    });
    await step.heal(() => client.query('ROLLBACK'));
    await Promise.all(calls);
    return `${closed} other orders closed meanwhile; ${refusals(step)}`;
  } finally {
    client.release();
    await Promise.all(calls);
  }
}

async function lockBackwards(client: PoolClient): Promise<number> {
  try {
    await client.query('BEGIN');
    for (const sku of ['TEA-D', 'TEA-C', 'TEA-B', 'TEA-A']) {
      await client.query('SELECT 1 FROM products WHERE sku = $1 FOR UPDATE', [sku]);
      await pause(20);
    }
    await client.query('COMMIT');
    return 0;
  } catch (error) {
    await client.query('ROLLBACK');
    if ((error as { code?: string }).code !== '40P01') throw error;
    return 1;
  }
}
