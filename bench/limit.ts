import type { World } from './world';

const CLOSERS = 2;
/** The best of them counts: none is the best everywhere. */
export const LIMIT_BATCHES = [1_000, 5_000] as const;

export interface Limit {
  /** How long it took to close all that is due, in milliseconds. */
  closeAll(): Promise<number>;
  close(): void;
}

/**
 * Closes what is due with the batch SQL alone, in a stored procedure on two connections: no
 * client, no lock in Redis, no alarm. Nothing that closes by such SQL can be faster.
 */
export async function openLimit(world: World, batch: number): Promise<Limit> {
  await world.pool.query(PROCEDURE);
  const clients = await Promise.all(Array.from({ length: CLOSERS }, () => world.pool.connect()));
  for (const client of clients) {
    await client.query('SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off');
  }
  return {
    closeAll: async () => {
      const startedMs = performance.now();
      await Promise.all(clients.map((client) => client.query(`CALL close_overdue(${batch})`)));
      return performance.now() - startedMs;
    },
    close: () => clients.forEach((client) => client.release(true)),
  };
}

/** The same for once: how long it took, in milliseconds. */
export async function closeAtTheLimit(world: World, batch: number): Promise<number> {
  const limit = await openLimit(world, batch);
  try {
    return await limit.closeAll();
  } finally {
    limit.close();
  }
}

const PROCEDURE = `
  CREATE OR REPLACE PROCEDURE close_overdue(batch int) LANGUAGE plpgsql AS $$
  DECLARE ids uuid[]; skus text[]; quantities int[];
  BEGIN
    LOOP
      WITH claimed AS (
        DELETE FROM near_deadlines WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM near_deadlines WHERE kind = 'payment' AND due_at <= now()
           ORDER BY kind, due_at LIMIT batch FOR UPDATE SKIP LOCKED))
        RETURNING subject_id)
      SELECT array_agg(subject_id) INTO ids FROM claimed;
      EXIT WHEN ids IS NULL;
      WITH changed AS (
        UPDATE orders SET status = 'closed', version = version + 1,
               close_reason = 'payment_timeout', closed_at = now()
         WHERE id = ANY (ids) AND status = 'pending_payment' AND closes_at <= now()
        RETURNING id, version)
      INSERT INTO order_events (order_id, version, type, from_status, to_status, by, reason, tx)
      SELECT id, version, 'order.closed', 'pending_payment', 'closed', 'timer', 'payment_timeout',
             pg_current_xact_id()
        FROM changed;
      WITH moved AS (
        SELECT sku, sum(quantity)::int AS quantity FROM order_items
         WHERE order_id = ANY (ids) GROUP BY sku
      ), locked AS MATERIALIZED (
        SELECT p.sku, m.quantity FROM moved m JOIN products p USING (sku)
         ORDER BY p.sku FOR NO KEY UPDATE OF p)
      SELECT array_agg(sku), array_agg(quantity) INTO skus, quantities FROM locked;
      UPDATE products p SET reserved = reserved - m.quantity, available = available + m.quantity
        FROM unnest(skus, quantities) AS m (sku, quantity) WHERE p.sku = m.sku;
      COMMIT;
    END LOOP;
  END $$`;
