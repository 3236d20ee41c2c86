import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a command leaves to the host's processes, as they alone have the host's code; and what they say of that. */
export class Errands1764050000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // First what may have to wait for others: nobody waits for us meanwhile.
    await runner.query(`
      ALTER TABLE processes
        ADD COLUMN has_hooks boolean,
        ADD COLUMN left_at timestamptz(3)`);
    await runner.query(
      `COMMENT ON COLUMN processes.has_hooks IS 'Hooks or a stock of the host''s own: no command may change an order; null: it says nothing of that'`,
    );
    await runner.query(
      `COMMENT ON COLUMN processes.left_at IS 'When it said goodbye; kept until others have told of themselves a day later'`,
    );
    await runner.query(`
      CREATE TABLE errands (
        id        uuid        PRIMARY KEY,
        what      text        NOT NULL,
        args      json        NOT NULL,
        asked_at  timestamptz NOT NULL DEFAULT now(),
        waited_at timestamptz NOT NULL DEFAULT now(),
        begun_at  timestamptz,
        answer    json
      )`);
    await runner.query(
      `COMMENT ON TABLE errands IS 'Changes that commands leave to the processes of a host; carried out once at the most, gone once the answer is read, or an hour later'`,
    );
    await runner.query('CREATE INDEX errands_waiting ON errands (asked_at) WHERE begun_at IS NULL');
    await runner.query('CREATE INDEX errands_by_age ON errands (asked_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE errands');
    await runner.query('ALTER TABLE processes DROP COLUMN left_at, DROP COLUMN has_hooks');
  }
}
