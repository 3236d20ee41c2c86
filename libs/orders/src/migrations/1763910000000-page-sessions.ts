import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Who may look at a page (checkout, console): a code that is traded once, for a token that a cookie
 * holds. Of both only SHA-256 is kept, so that whoever reads the table gets into nothing.
 */
export class PageSessions1763910000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE page_sessions (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        page text NOT NULL CHECK (page IN ('checkout', 'console')),
        subject text NOT NULL,
        scopes text[] NOT NULL,
        order_id uuid,
        created_at timestamptz NOT NULL DEFAULT now(),
        code_hash bytea UNIQUE,
        code_ends_at timestamptz,
        token_hash bytea UNIQUE,
        opened_at timestamptz,
        ends_at timestamptz NOT NULL,
        revoked_at timestamptz,
        CHECK ((page = 'checkout') = (order_id IS NOT NULL))
      )`);
    await runner.query('CREATE INDEX page_sessions_ends_at ON page_sessions (ends_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE page_sessions');
  }
}
