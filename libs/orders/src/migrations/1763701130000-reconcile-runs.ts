import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Comparisons with the providers' ledgers: how far each has come, so that one which was interrupted
 * goes on, and what it has found, so that an operator can say of it that it is done with.
 */
export class ReconcileRuns1763701130000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE reconcile_findings, reconcile_seen, reconcile_runs');
  }
}

const UP = [
  // `place` is the provider, the side that is being read, and from where: see reconcile-runs.ts.
  `CREATE TABLE reconcile_runs (
     id           uuid           PRIMARY KEY,
     since        timestamptz(3) NOT NULL,
     started_at   timestamptz(3) NOT NULL DEFAULT now(),
     place        jsonb,
     checked      integer        NOT NULL DEFAULT 0,
     finished_at  timestamptz(3),
     closed_at    timestamptz(3)
   )`,
  'CREATE INDEX reconcile_runs_by_age ON reconcile_runs (started_at)',
  // Which of our payments the ledger had; gone once the run has ended.
  `CREATE TABLE reconcile_seen (
     run_id     uuid NOT NULL REFERENCES reconcile_runs (id) ON DELETE CASCADE,
     payment_id uuid NOT NULL,
     PRIMARY KEY (run_id, payment_id)
   )`,
  // By what is different and how: a page that is read again finds nothing twice, and what an operator
  // has closed is known when it is found again.
  `CREATE TABLE reconcile_findings (
     run_id  uuid    NOT NULL REFERENCES reconcile_runs (id) ON DELETE CASCADE,
     key     text    NOT NULL,
     state   text    NOT NULL CHECK (state IN ('open', 'fixed', 'closed')),
     finding jsonb   NOT NULL,
     PRIMARY KEY (run_id, key)
   )`,
  `CREATE INDEX reconcile_findings_closed ON reconcile_findings (key) WHERE state = 'closed'`,
  `DO $$ BEGIN
     IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
       GRANT SELECT, INSERT, UPDATE, DELETE
          ON reconcile_runs, reconcile_seen, reconcile_findings TO lastcall_app;
     END IF;
   END $$`,
];
