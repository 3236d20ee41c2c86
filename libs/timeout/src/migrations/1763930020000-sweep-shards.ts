import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who has which part of a sharded sweep, and what became of it: a lease and a report in one row. */
export class SweepShards1763930020000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE sweep_shards (
        run_id        uuid           NOT NULL,
        shard         integer        NOT NULL,
        kind          text           NOT NULL,
        begun_at      timestamptz(3) NOT NULL,
        due           bigint         NOT NULL,
        after_due_at  timestamptz(3) NOT NULL,
        after_id      uuid           NOT NULL,
        until_due_at  timestamptz(3) NOT NULL,
        until_id      uuid           NOT NULL,
        holder        uuid,
        lease_until   timestamptz(3),
        ran_by        text[]         NOT NULL DEFAULT '{}',
        taken_at      timestamptz(3),
        ended_at      timestamptz(3),
        found         bigint         NOT NULL DEFAULT 0,
        changed       bigint         NOT NULL DEFAULT 0,
        lost          bigint         NOT NULL DEFAULT 0,
        put_back      bigint         NOT NULL DEFAULT 0,
        failed        bigint         NOT NULL DEFAULT 0,
        remaining     bigint         NOT NULL DEFAULT 0,
        oldest_lag_ms bigint         NOT NULL DEFAULT 0,
        PRIMARY KEY (run_id, shard)
      ) WITH (fillfactor = 50)`);
    await runner.query(
      'CREATE INDEX sweep_shards_open ON sweep_shards (kind, begun_at, shard) WHERE ended_at IS NULL',
    );
    await runner.query(
      `COMMENT ON TABLE sweep_shards IS 'One row for each part of a sharded sweep: who holds it, until when, and what it did'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE sweep_shards');
  }
}
