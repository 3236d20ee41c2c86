import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `history_reaches()` sees what the statement sees that calls it. It saw what had been committed by the
 * time it was called, so that a statement that took its time (the invariants, over a large history) found
 * the history ahead of the transactions that it knew of itself, and told operators of a restored dump.
 */
export class HistoryReachesBySnapshot1763990000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER FUNCTION history_reaches() STABLE');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER FUNCTION history_reaches() VOLATILE');
  }
}
