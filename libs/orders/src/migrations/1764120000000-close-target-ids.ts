import type { MigrationInterface, QueryRunner } from 'typeorm';

const CAPTURED = `status = 'captured' AND provider_payment_id <> ''`;

/** What a provider has captured is captured for one payment of close targets, by its id there. */
export class CloseTargetIds1764120000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Where an adapter has told it of two before, both stay as they are, and judging alone keeps it from others.
    const twice = (await runner.query(
      `SELECT FROM target_payments WHERE ${CAPTURED} GROUP BY provider_payment_id, provider HAVING count(*) > 1 LIMIT 1`,
    )) as unknown[];
    const unique = twice.length === 0 ? 'UNIQUE' : '';
    await runner.query(
      `CREATE ${unique} INDEX target_payments_by_their_id ON target_payments (provider_payment_id, provider)
        WHERE ${CAPTURED}`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX target_payments_by_their_id');
  }
}
