import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who rings and sweeps, so that an operator sees from anywhere whether anybody does. */
export class Workers1763600010000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE workers (
        id                  uuid           PRIMARY KEY,
        host                text           NOT NULL,
        pid                 integer        NOT NULL,
        started_at          timestamptz(3) NOT NULL,
        swept_at            timestamptz(3) NOT NULL DEFAULT now(),
        sweep_interval_ms   integer        NOT NULL,
        timer_store_healthy boolean        NOT NULL,
        clock_offset_ms     integer        NOT NULL
      ) WITH (fillfactor = 50)`);
    await runner.query(
      `COMMENT ON TABLE workers IS 'One row for each process that rings and sweeps, renewed by every sweep'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE workers');
  }
}
