import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `lastcall_app`: what the application may not do, for the users it connects as
 * (docs/threat-model.md). History can be written and read, and not rewritten. The owner, who
 * migrates, may do anything. The role and its other rights come with the setting DATABASE_ROLE
 * (../application-role.ts): this migration once made the role itself, and gave it every table of the
 * schema, whoever's they were.
 */
export class ApplicationRole1763600030000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DO $$ BEGIN
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${ROLE}') THEN RETURN; END IF;
        REVOKE UPDATE, DELETE ON order_events, operator_actions FROM ${ROLE};
        REVOKE DELETE ON orders, order_items, payments, refunds, webhook_events FROM ${ROLE};
      END $$`);
  }

  async down(): Promise<void> {
    // What is taken from a role is nothing to give back: its tables go with their own migrations.
  }
}

const ROLE = 'lastcall_app';
