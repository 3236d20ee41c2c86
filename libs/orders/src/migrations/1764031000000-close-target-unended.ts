import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Paid orders of close targets of which another payment is still asked about, to be found as such. */
export class CloseTargetUnended1764031000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // What is over was counted until now, too; what is not is counted anew by its next attempt.
    await runner.query(
      `UPDATE target_orders SET attempts = 0 WHERE status = 'paid' AND attempts > 0`,
    );
    await runner.query(
      `CREATE INDEX target_orders_unended ON target_orders (changed_at) WHERE status = 'paid' AND attempts > 0`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX target_orders_unended');
  }
}
