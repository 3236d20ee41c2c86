import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `installation.signing_key`: what the API signs short-lived tokens with, the same for all its
 * processes. 244 random bits from Postgres' own strong source; the application reads it and may not
 * replace it, nor the installation's id.
 */
export class SigningKey1763700410000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE installation ADD COLUMN signing_key bytea NOT NULL
        DEFAULT sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'))`);
    await runner.query(`
      DO $$ BEGIN
        IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
          REVOKE INSERT, UPDATE, DELETE ON installation FROM lastcall_app;
        END IF;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE installation DROP COLUMN signing_key');
  }
}
