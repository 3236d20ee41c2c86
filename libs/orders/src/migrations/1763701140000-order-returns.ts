import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What came back of an order's lines, append-only: never more than was bought, and what a cancel does
 * not put back once more. `movement_id` is the stock movement that put it back, folded or not.
 */
export class OrderReturns1763701140000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE order_returns (
        movement_id bigint         PRIMARY KEY,
        order_id    uuid           NOT NULL,
        sku         text           NOT NULL,
        quantity    integer        NOT NULL CHECK (quantity > 0),
        at          timestamptz(3) NOT NULL DEFAULT now()
      )`);
    await runner.query('CREATE INDEX order_returns_of_order ON order_returns (order_id, sku)');
    await runner.query(`
      DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
          GRANT SELECT, INSERT ON order_returns TO lastcall_app;
          REVOKE UPDATE, DELETE ON order_returns FROM lastcall_app;
        END IF;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE order_returns');
  }
}
