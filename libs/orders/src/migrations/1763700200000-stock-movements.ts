import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What changes of status do to stock, as rows of their own that are folded into the products later
 * (docs/adr/0013). Nothing has to be moved: the counters hold all that was done before.
 */
export class StockMovements1763700200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    // Whatever is not folded yet would be lost with its table.
    await runner.query(`
      DO $$ BEGIN
        PERFORM 1 FROM products ORDER BY sku FOR NO KEY UPDATE;
        PERFORM fold_stock_of(ARRAY(SELECT DISTINCT sku FROM unfolded_stock_movements), 0, NULL);
      END $$`);
    await runner.query('DROP FUNCTION fold_stock(bigint, int, int)');
    await runner.query('DROP FUNCTION fold_stock_of(text[], bigint, int)');
    await runner.query('DROP TABLE unfolded_stock_movements, stock_movements');
  }
}

const UP = [
  // Appended by the transaction that changes orders, one row a SKU and effect, whatever the number
  // of orders; taken out when it is folded into its product. Short, so vacuumed by count.
  `CREATE TABLE unfolded_stock_movements (
     id       bigint         GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     sku      text           NOT NULL,
     effect   text           NOT NULL CHECK (effect IN ('release', 'sell', 'restock')),
     quantity integer        NOT NULL CHECK (quantity > 0),
     at       timestamptz(3) NOT NULL DEFAULT now(),
     tx       xid8           NOT NULL DEFAULT pg_current_xact_id()
   ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`,
  `CREATE INDEX unfolded_stock_movements_of_sku ON unfolded_stock_movements (sku, id)`,

  // Append-only: what has been folded. The history rows of the same transaction say whose it was.
  `CREATE TABLE stock_movements (
     tx        xid8           NOT NULL,
     id        bigint         NOT NULL,
     sku       text           NOT NULL,
     effect    text           NOT NULL,
     quantity  integer        NOT NULL,
     at        timestamptz(3) NOT NULL,
     folded_at timestamptz(3) NOT NULL DEFAULT now(),
     PRIMARY KEY (tx, id)
   )`,

  // Folds the oldest movements of products whose rows the caller's transaction has locked, in an
  // earlier statement, so that this one sees them as they are. What would make a counter negative
  // stays where it is: that product's books are wrong, and no other's.
  `CREATE FUNCTION fold_stock_of(skus text[], after_id bigint, most int) RETURNS int
   LANGUAGE plpgsql VOLATILE AS $$
   DECLARE folded int;
   BEGIN
     WITH due AS (
       SELECT u.* FROM unnest(skus) AS wanted (sku), LATERAL (
         SELECT * FROM unfolded_stock_movements u
          WHERE u.sku = wanted.sku AND u.id > after_id ORDER BY u.sku, u.id LIMIT most) AS u
        LIMIT most
     ), sums AS (
       SELECT sku, coalesce(sum(quantity) FILTER (WHERE effect = 'release'), 0)::int AS released,
              coalesce(sum(quantity) FILTER (WHERE effect = 'sell'), 0)::int AS sold,
              coalesce(sum(quantity) FILTER (WHERE effect = 'restock'), 0)::int AS restocked
         FROM due GROUP BY sku
     ), changed AS (
       UPDATE products p
          SET available = p.available + s.released + s.restocked,
              reserved = p.reserved - s.released - s.sold,
              sold = p.sold + s.sold - s.restocked
         FROM sums s
        WHERE p.sku = s.sku AND p.reserved >= s.released + s.sold AND p.sold + s.sold >= s.restocked
       RETURNING p.sku
     ), gone AS (
       DELETE FROM unfolded_stock_movements u USING due d, changed c
        WHERE u.id = d.id AND d.sku = c.sku RETURNING u.*
     ), kept AS (
       INSERT INTO stock_movements (tx, id, sku, effect, quantity, at)
       SELECT tx, id, sku, effect, quantity, at FROM gone RETURNING 1
     )
     SELECT count(*) INTO folded FROM kept;
     RETURN folded;
   END $$`,

  // Looks at the next movements after an id and folds all there is of their products, but for those
  // whose row somebody holds. One statement and its own transaction, so that a process which stops
  // in the middle holds nothing; and its commit waits for no disk, as the movements are on disk and
  // are folded again where it is lost. Whoever commits after it has it on disk before.
  `CREATE FUNCTION fold_stock(after_id bigint, to_look_at int, most int,
                              OUT last_id bigint, OUT looked_at int, OUT folded int)
   LANGUAGE plpgsql VOLATILE AS $$
   DECLARE
     wanted text[];
     free text[];
   BEGIN
     PERFORM set_config('synchronous_commit', 'off', true);
     SELECT max(id), count(*), array_agg(DISTINCT sku) INTO last_id, looked_at, wanted
       FROM (SELECT id, sku FROM unfolded_stock_movements
              WHERE id > after_id ORDER BY id LIMIT to_look_at) AS oldest;
     SELECT array_agg(sku) INTO free
       FROM (SELECT sku FROM products WHERE sku = ANY (wanted) FOR NO KEY UPDATE SKIP LOCKED) AS p;
     folded := coalesce(fold_stock_of(free, after_id, most), 0);
   END $$`,

  `DO $$ BEGIN
     IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN RETURN; END IF;
     GRANT SELECT, INSERT, DELETE ON unfolded_stock_movements TO lastcall_app;
     GRANT SELECT, INSERT ON stock_movements TO lastcall_app;
     REVOKE UPDATE ON unfolded_stock_movements FROM lastcall_app;
     REVOKE UPDATE, DELETE ON stock_movements FROM lastcall_app;
   END $$`,
];
