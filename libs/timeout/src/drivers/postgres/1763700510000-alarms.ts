import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The alarms of the driver that needs nothing but Postgres. Empty with any other. */
export class Alarms1763700510000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Queue-like: rows live minutes, and what is dead is cleared away at once.
    await runner.query(`
      CREATE TABLE alarms (
        queue   text           NOT NULL,
        id      text           NOT NULL,
        at      timestamptz(3) NOT NULL,
        look_at timestamptz(3) NOT NULL,
        lease   uuid,
        PRIMARY KEY (queue, id)
      ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
              autovacuum_vacuum_cost_delay = 0)`);
    await runner.query(`CREATE INDEX alarms_by_look_at ON alarms (queue, look_at)`);
    await runner.query(
      `COMMENT ON TABLE alarms IS 'What the postgres timer driver will ring; a marker at infinity tells whether the table was emptied'`,
    );
    await runner.query(
      `COMMENT ON COLUMN alarms.look_at IS 'The alarm''s instant, or when the lease of whoever rings it ends'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE alarms');
  }
}
