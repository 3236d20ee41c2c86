import type { MigrationInterface, QueryRunner } from 'typeorm';
import { sum } from './money-kinds';

/**
 * A payment's money is of one currency: that which was taken. What was told of before, as a refund of the
 * dashboard's or a dispute, stands in the currency that was asked for, since nobody knew of another one.
 * It counted for nothing where another one had been taken, so that the same money went back once more.
 */
export class BalancesOfWhatWasTaken1764130000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE OR REPLACE VIEW payment_balances AS
      SELECT order_id, payment_id,
             coalesce(max(currency) FILTER (WHERE kind = 'captured'), max(currency)) AS currency,
             ${SUMS}
        FROM money_movements GROUP BY order_id, payment_id`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE OR REPLACE VIEW payment_balances AS
      SELECT order_id, payment_id, currency, ${SUMS}
        FROM money_movements GROUP BY order_id, payment_id, currency`);
  }
}

const SUMS = `${sum('captured')} AS captured,
  ${sum('refund_succeeded', 'foreign_refund')} - ${sum('refund_reversed', 'foreign_refund_failed')} AS refunded,
  ${sum('refund_requested', 'refund_reversed')} - ${sum('refund_succeeded', 'refund_canceled')} AS refunding,
  ${sum('disputed')} - ${sum('dispute_won')} AS disputed,
  ${sum('disputed')} - ${sum('dispute_won', 'dispute_lost')} AS in_dispute,
  ${sum('held')} - ${sum('released')} AS held`;
