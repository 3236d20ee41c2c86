import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `extension_keys`: which extension of an order an Idempotency-Key has stood for, so that one whose answer
 * was lost can be asked for again without a second one.
 */
export class ExtensionKeys1764060001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE extension_keys (
        order_id   uuid           NOT NULL,
        key        text           NOT NULL,
        body_hash  text           NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (order_id, key)
      )`);
    await runner.query('CREATE INDEX extension_keys_by_age ON extension_keys (created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE extension_keys');
  }
}
