import type { MigrationInterface, QueryRunner } from 'typeorm';
import { Retention1763600040000 } from './1763600040000-retention';

/** A ctid is unique in one partition: who has partitioned the inbox would lose others' rows. */
export class RetentionByKey1763700220000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ schema }] = (await runner.query('SELECT quote_ident(current_schema()) AS schema')) as [
      { schema: string },
    ];
    await runner.query(`
      CREATE OR REPLACE FUNCTION forget_settled_webhooks(most int) RETURNS int
      LANGUAGE sql SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
        WITH old AS MATERIALIZED (
          SELECT ctid AS place, id FROM webhook_events
           WHERE received_at < now() - interval '7 days' AND status = 'processed'
           ORDER BY received_at LIMIT most FOR UPDATE SKIP LOCKED
        ), gone AS (
          DELETE FROM webhook_events WHERE ctid = ANY (ARRAY(SELECT place FROM old))
             AND id IN (SELECT id FROM old)
          RETURNING 1)
        SELECT count(*)::int FROM gone
      $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    const before = new Retention1763600040000();
    await before.down(runner);
    await before.up(runner);
  }
}
