import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The application's role may not delete from the inbox. This function may, with its owner's right,
 * and only what is of no more use: settled, and past the week in which an event id must be known.
 */
export class Retention1763600040000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const [{ schema }] = (await runner.query('SELECT quote_ident(current_schema()) AS schema')) as [
      { schema: string },
    ];
    await runner.query(`
      CREATE FUNCTION forget_settled_webhooks(most int) RETURNS int
      LANGUAGE sql SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
        WITH gone AS (
          DELETE FROM webhook_events WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM webhook_events
             WHERE received_at < now() - interval '7 days' AND status = 'processed'
             ORDER BY received_at LIMIT most FOR UPDATE SKIP LOCKED))
          RETURNING 1)
        SELECT count(*)::int FROM gone
      $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION forget_settled_webhooks(int)');
  }
}
