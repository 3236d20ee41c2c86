import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the processes of an installation run with, so that commands need not guess it. */
export class Processes1763702200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE processes (
        id         uuid           PRIMARY KEY,
        host       text           NOT NULL,
        pid        integer        NOT NULL,
        settings   jsonb          NOT NULL,
        started_at timestamptz(3) NOT NULL DEFAULT now(),
        seen_at    timestamptz(3) NOT NULL DEFAULT now()
      ) WITH (fillfactor = 50)`);
    await runner.query(
      `COMMENT ON TABLE processes IS 'One row for each process that serves or works, renewed every ten seconds; no secrets'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE processes');
  }
}
