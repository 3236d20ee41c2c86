import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `orders.event_tx`: the transaction under which the order's last event is relayed. A transaction
 * has its id before it waits for an order's row, so the one that comes later may have the smaller
 * id; its event carries the greater of the two (docs/adr/0006).
 *
 * The default is set after the column: rows that exist are not rewritten, and their null means that
 * whatever wrote their last event has ended.
 */
export class EventOrder1763700110000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders ADD COLUMN event_tx xid8');
    await runner.query('ALTER TABLE orders ALTER COLUMN event_tx SET DEFAULT pg_current_xact_id()');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders DROP COLUMN event_tx');
  }
}
