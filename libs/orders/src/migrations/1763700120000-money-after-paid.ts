import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Orders that are canceled because their money is gone, or by an operator; refunds that are owed no
 * longer; and whether the provider was asked for an attempt, which then has to be seen to its end.
 */
export class MoneyAfterPaid1763700120000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await constrain(runner, 'orders', 'close_reason', [...CLOSE_REASONS, ...NEW_CLOSE_REASONS]);
    await constrain(runner, 'refunds', 'status', [...REFUND_STATUSES, 'canceled']);
    await runner.query('ALTER TABLE refunds ADD COLUMN asked_at timestamptz(3)');
    await runner.query(`UPDATE refunds SET asked_at = updated_at WHERE status <> 'succeeded'`);
    await runner.query('DROP INDEX refunds_one_a_reason');
    await runner.query(
      `CREATE UNIQUE INDEX refunds_one_a_reason ON refunds (payment_id, reason)
        WHERE reason <> 'operator' AND status <> 'canceled'`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX refunds_one_a_reason');
    await runner.query(
      `CREATE UNIQUE INDEX refunds_one_a_reason ON refunds (payment_id, reason)
        WHERE reason <> 'operator'`,
    );
    await runner.query('ALTER TABLE refunds DROP COLUMN asked_at');
    await constrain(runner, 'refunds', 'status', REFUND_STATUSES);
    await constrain(runner, 'orders', 'close_reason', CLOSE_REASONS);
  }
}

const CLOSE_REASONS = [
  'payment_timeout',
  'customer_canceled',
  'operator_closed',
  'shipment_timeout',
];
const NEW_CLOSE_REASONS = ['operator_canceled', 'refunded_at_provider', 'dispute_lost'];
const REFUND_STATUSES = ['requested', 'pending', 'succeeded', 'failed', 'needs_attention'];

/** Rows that exist are not read: each of them met the narrower rule. */
async function constrain(
  runner: QueryRunner,
  table: string,
  column: string,
  words: readonly string[],
): Promise<void> {
  const name = `${table}_${column}_check`;
  const list = words.map((word) => `'${word}'`).join(', ');
  await runner.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  await runner.query(
    `ALTER TABLE ${table} ADD CONSTRAINT ${name} CHECK (${column} IN (${list})) NOT VALID`,
  );
}
