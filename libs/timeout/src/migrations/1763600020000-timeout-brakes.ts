import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When timeouts stopped themselves and who let them go on, and what that is judged by. */
export class TimeoutBrakes1763600020000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE timeout_brakes (
        id             uuid           PRIMARY KEY DEFAULT gen_random_uuid(),
        cause          text           NOT NULL,
        kind           text           NOT NULL,
        due            integer        NOT NULL,
        waiting        integer        NOT NULL,
        engaged_at     timestamptz(3) NOT NULL DEFAULT now(),
        released_at    timestamptz(3),
        released_by    text           CHECK (released_by <> ''),
        release_reason text           CHECK (release_reason <> ''),
        CONSTRAINT releases_have_a_reason
          CHECK (num_nonnulls(released_at, released_by, release_reason) IN (0, 3))
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX one_brake_at_a_time ON timeout_brakes ((true)) WHERE released_at IS NULL`,
    );
    await runner.query(
      `COMMENT ON TABLE timeout_brakes IS 'Each time that timeouts stopped and waited for an operator; on while not released'`,
    );
    await runner.query(`
      CREATE TABLE machine_clocks (
        machine     text           PRIMARY KEY,
        database_at timestamptz(3) NOT NULL,
        uptime_ms   bigint         NOT NULL
      ) WITH (fillfactor = 50)`);
    await runner.query(
      `COMMENT ON TABLE machine_clocks IS 'What the database''s clock said at which uptime of a worker''s machine: a jump shows'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE machine_clocks, timeout_brakes');
  }
}
