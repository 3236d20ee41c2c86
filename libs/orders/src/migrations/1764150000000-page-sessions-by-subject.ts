import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A session is made with each link and kept for a month: a customer's, and the console's, are found among them. */
export class PageSessionsBySubject1764150000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX page_sessions_by_subject ON page_sessions (page, subject)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX page_sessions_by_subject');
  }
}
