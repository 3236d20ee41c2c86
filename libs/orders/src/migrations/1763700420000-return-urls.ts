import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `payment_keys.return_url`: what a key was sent with, so that it stands for one request only. */
export class ReturnUrls1763700420000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payment_keys ADD COLUMN return_url text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payment_keys DROP COLUMN return_url');
  }
}
