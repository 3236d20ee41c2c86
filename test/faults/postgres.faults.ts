import type { PoolClient } from 'pg';
import { until } from '../support/until';
import { assert, type Fault, type Scene, slowness } from './fault';
import { pause } from './load';

/** "503 fast": the wait for a connection (2 s) or for a lock (3 s), and the way there and back. */
const REFUSED_WITHIN_MS = 5_000;

export const POSTGRES_FAULTS: readonly Fault[] = [
  {
    area: 'Postgres',
    name: 'immediate shutdown (every backend gone), started again',
    quick: true,
    play: async (scene) => {
      await scene.stage.crashPostgres();
      await scene.lasting(5_000, 2_000);
      const startedMs = performance.now();
      await scene.stage.startPostgres();
      const recovered = `recovered in ${Math.round(performance.now() - startedMs)} ms`;
      await scene.heal();
      return `${recovered}; ${refusals(scene)}`;
    },
  },
  {
    area: 'Postgres',
    name: 'every connection reset, five times',
    play: async (scene) => {
      for (let time = 0; time < 5; time++) {
        scene.stage.postgres.reset();
        await pause(1_000);
      }
      await scene.heal();
      return refusals(scene);
    },
  },
  {
    area: 'Postgres',
    name: 'pool of the API exhausted by sixty calls on locked orders',
    play: exhaustPool,
  },
  {
    area: 'Postgres',
    name: 'one transaction in five fails: serialization, deadlock, lock timeout',
    quick: true,
    play: async (scene) => {
      await scene.stage.rows(UNLUCKY_FUNCTION);
      await scene.stage.rows(
        `CREATE TRIGGER unlucky BEFORE INSERT OR UPDATE ON orders
           FOR EACH STATEMENT EXECUTE FUNCTION unlucky()`,
      );
      await scene.lasting(15_000, 5_000);
      await scene.heal(() => scene.stage.rows('DROP TRIGGER unlucky ON orders'));
      return refusals(scene);
    },
  },
  {
    area: 'Postgres',
    name: 'somebody locks products in the opposite order: real deadlocks',
    play: async (scene) => {
      const client = await scene.stage.pool.connect();
      let deadlocks = 0;
      try {
        for (const endMs = performance.now() + 12_000; performance.now() < endMs;) {
          deadlocks += await lockBackwards(client);
        }
      } finally {
        client.release();
      }
      await scene.heal();
      return `the other side lost ${deadlocks} deadlocks; ${refusals(scene)}`;
    },
  },
  {
    area: 'Postgres',
    name: 'every product locked for 8 s: lock timeouts',
    play: async (scene) => {
      const client = await scene.stage.pool.connect();
      try {
        await client.query('BEGIN');
        await client.query('SELECT 1 FROM products FOR UPDATE');
        await pause(8_000);
        await scene.heal(() => client.query('ROLLBACK'));
      } finally {
        client.release();
      }
      return refusals(scene);
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

function refusals(scene: Scene): string {
  const { refused, slowestRefusedMs, unanswered } = scene.load.experience;
  assert(slowestRefusedMs <= REFUSED_WITHIN_MS * slowness(), `a 503 took ${slowestRefusedMs} ms`);
  return `${refused} calls refused, the slowest after ${slowestRefusedMs} ms, ${unanswered} cut off; all were repeated and done`;
}

/** Sixty cancels of the newest orders wait for their rows; the closers go on with the others. */
async function exhaustPool(scene: Scene): Promise<string> {
  const orders = await scene.stage.rows<{ id: string; customer_id: string }>(
    `SELECT id, customer_id FROM orders WHERE status = 'pending_payment'
      ORDER BY closes_at DESC LIMIT 30`,
  );
  const client = await scene.stage.pool.connect();
  const since = await scene.now();
  let calls: Promise<unknown>[] = [];
  try {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM orders WHERE id = ANY ($1::uuid[]) FOR UPDATE', [
      orders.map(({ id }) => id),
    ]);
    calls = [...orders, ...orders].map(({ id, customer_id: sub }) =>
      scene.client.api(`POST /v1/orders/${id}/cancel`, { sub }),
    );
    await pause(6_000);
    const closed = await until('the closers go on', async () => {
      const { timer = 0, sweep = 0 } = await scene.closedBy(since);
      return timer + sweep;
    });
    await scene.heal(() => client.query('ROLLBACK'));
    await Promise.all(calls);
    return `${closed} other orders closed meanwhile; ${refusals(scene)}`;
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
