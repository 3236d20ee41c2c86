import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A function that deletes with its owner's rights is for the application, and for nobody else who
 * may connect: Postgres lets everybody run a new function.
 */
export class PrivateFunctions1763700260000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('REVOKE ALL ON FUNCTION forget_settled_webhooks(int) FROM PUBLIC');
    await runner.query(`
      DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
          GRANT EXECUTE ON FUNCTION forget_settled_webhooks(int) TO lastcall_app;
        END IF;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('GRANT EXECUTE ON FUNCTION forget_settled_webhooks(int) TO PUBLIC');
  }
}
