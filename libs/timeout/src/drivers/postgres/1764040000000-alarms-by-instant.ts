import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Alarms are found by their ids by the primary key alone: the other index, which begins with the
 * queue's name as well, is made unable to serve that. Postgres took it, as it is the smaller one,
 * once it had counted a table that is empty nearly always, and then read all that an old snapshot
 * keeps for each alarm that had rung.
 */
export class AlarmsByInstant1764040000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX alarms_by_look_at`);
    await runner.query(`CREATE INDEX alarms_by_look_at ON alarms ((queue || ''), look_at)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX alarms_by_look_at`);
    await runner.query(`CREATE INDEX alarms_by_look_at ON alarms (queue, look_at)`);
  }
}
