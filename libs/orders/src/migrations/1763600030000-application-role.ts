import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `lastcall_app`: what the application may do, for the users it connects as (docs/threat-model.md).
 * History can be written and read, and not rewritten. The owner, who migrates, may do anything.
 */
export class ApplicationRole1763600030000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Roles belong to the server, not to this database: another installation may have made it, and
    // an owner who may not make roles leaves that to an administrator.
    await runner.query(`
      DO $$ BEGIN
        CREATE ROLE ${ROLE} NOLOGIN;
      EXCEPTION
        WHEN duplicate_object OR unique_violation THEN NULL;
        WHEN insufficient_privilege THEN RAISE NOTICE 'no right to create the role ${ROLE}';
      END $$`);
    await runner.query(`
      DO $$ BEGIN
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${ROLE}') THEN RETURN; END IF;
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO ${ROLE}', current_schema());
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO ${ROLE}',
                       current_schema());
        EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I
                          GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${ROLE}',
                       current_schema());
        REVOKE UPDATE, DELETE ON order_events, operator_actions FROM ${ROLE};
        REVOKE DELETE ON orders, order_items, payments, refunds, webhook_events FROM ${ROLE};
        REVOKE INSERT, UPDATE, DELETE ON migrations FROM ${ROLE};
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    // The role stays: another database of this server may use it.
    await runner.query(`
      DO $$ BEGIN
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${ROLE}') THEN RETURN; END IF;
        EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I REVOKE ALL ON TABLES FROM ${ROLE}',
                       current_schema());
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM ${ROLE}', current_schema());
        EXECUTE format('REVOKE USAGE ON SCHEMA %I FROM ${ROLE}', current_schema());
      END $$`);
  }
}

const ROLE = 'lastcall_app';
