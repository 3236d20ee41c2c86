import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What operators did to things that have no history of their own; orders have `order_events`. */
export class OperatorActions1763600011000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE operator_actions (
        id           bigint         GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at           timestamptz(3) NOT NULL DEFAULT now(),
        actor        text           NOT NULL CHECK (actor <> ''),
        action       text           NOT NULL,
        subject_kind text           NOT NULL,
        subject_id   uuid           NOT NULL,
        reason       text           NOT NULL CHECK (reason <> '')
      )`);
    await runner.query('CREATE INDEX operator_actions_of ON operator_actions (subject_id)');
    await runner.query(
      `COMMENT ON TABLE operator_actions IS 'Append-only: who retried, replayed or released what, and why'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE operator_actions');
  }
}
