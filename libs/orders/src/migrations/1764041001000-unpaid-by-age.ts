import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Limits that may be forgotten are found by the age of their orders, whose ids begin with their time. */
export class UnpaidOrdersByAge1764041001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX IF NOT EXISTS unpaid_orders_by_age ON unpaid_orders (order_id)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX unpaid_orders_by_age');
  }
}

/** And by that of their streaks. */
export class UnpaidStreaksByAge1764041002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE INDEX IF NOT EXISTS unpaid_streaks_by_age ON unpaid_streaks (last_at)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX unpaid_streaks_by_age');
  }
}
