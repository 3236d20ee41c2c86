import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What operators say of close targets' orders, refunds, webhooks and money, and that they said it. */
export class CloseTargetExits1763960000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The word waits in the order's row: only a process of the shop's own can change the shop's table.
    await runner.query(`
      ALTER TABLE target_orders
        ADD COLUMN told text CHECK (told IN ('closed', 'paid')),
        ADD COLUMN told_payment text`);
    await runner.query(`
      CREATE TABLE target_actions (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT now(),
        actor text NOT NULL,
        action text NOT NULL,
        subject text NOT NULL,
        reason text NOT NULL
      )`);
    await runner.query(
      `COMMENT ON TABLE target_actions IS 'Who ended which wait of a close target, how and why; append-only'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE target_actions');
    await runner.query('ALTER TABLE target_orders DROP COLUMN told_payment, DROP COLUMN told');
  }
}

/**
 * What waits is little, however much there is. Each table in a transaction of its own, so that nobody waits for one
 * of them while another one is read; an earlier form of the one before made these indexes, too.
 */
export class TargetOrdersClosing1763960001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX IF NOT EXISTS target_orders_closing ON target_orders (changed_at)
        WHERE status = 'closing'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX target_orders_closing');
  }
}

export class TargetRefundsOpen1763960002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX IF NOT EXISTS target_refunds_open ON target_refunds (created_at)
        WHERE status <> 'succeeded'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX target_refunds_open');
  }
}

export class TargetWebhooksHeld1763960003000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX IF NOT EXISTS target_webhooks_held ON target_webhooks (received_at)
        WHERE status = 'held'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX target_webhooks_held');
  }
}
