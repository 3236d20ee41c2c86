import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who changed which product, and why: append-only, for the application's role too. */
export class ProductChanges1763800200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE product_changes (
        id         bigint         GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        sku        text           NOT NULL,
        at         timestamptz(3) NOT NULL DEFAULT now(),
        actor      text           NOT NULL CHECK (actor <> ''),
        action     text           NOT NULL CHECK (action IN ('created', 'updated', 'stock')),
        reason     text,
        name       text,
        unit_price bigint,
        currency   text,
        delta      integer,
        available  integer,
        CONSTRAINT stock_has_a_reason
          CHECK (action <> 'stock' OR (delta IS NOT NULL AND reason IS NOT NULL))
      )`);
    await runner.query('CREATE INDEX product_changes_of ON product_changes (sku, id)');
    await runner.query(`
      DO $$ BEGIN
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN RETURN; END IF;
        GRANT SELECT, INSERT ON product_changes TO lastcall_app;
        REVOKE UPDATE, DELETE ON product_changes FROM lastcall_app;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE product_changes');
  }
}
