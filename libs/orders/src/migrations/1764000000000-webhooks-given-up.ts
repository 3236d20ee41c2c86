import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Webhooks that are due are found by one index, which is the only one that can be used for it: the one
 * for those that are given up asks for more. With two, Postgres chose by what it knew of those that wait,
 * of which there are none nearly always, and read and sorted all that waited for each sixteen it sent.
 * The next one puts it in the place of the one before, which takes a moment: nobody waits for that while
 * the table is read. An earlier form of this one did both.
 */
export class WebhooksGivenUp1764000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX ${NEW} ON webhook_deliveries (retry_until)
        WHERE status = 'pending' AND settled_at IS NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    // None where the earlier form ran, and the next one was not there yet.
    await runner.query(`DROP INDEX IF EXISTS ${NEW}`);
  }
}

export class WebhooksGivenUpInPlace1764000001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DO $$ BEGIN
        IF to_regclass('${NEW}') IS NULL THEN RETURN; END IF;
        DROP INDEX webhook_deliveries_given_up;
        ALTER INDEX ${NEW} RENAME TO webhook_deliveries_given_up;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER INDEX webhook_deliveries_given_up RENAME TO ${NEW}`);
    await runner.query(
      `CREATE INDEX webhook_deliveries_given_up ON webhook_deliveries (retry_until)
        WHERE status = 'pending'`,
    );
  }
}

const NEW = 'webhook_deliveries_given_up_by_end';
