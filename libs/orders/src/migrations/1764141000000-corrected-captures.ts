import type { MigrationInterface, QueryRunner } from 'typeorm';
import { constrainKinds, sum } from './money-kinds';

/**
 * `capture_withdrawn`: what was recorded as taken counts no longer, as an operator goes by the other amount that the
 * provider has told since; that is `captured` beside it.
 */
export class CorrectedCaptures1764141000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await constrainKinds(runner, [...KINDS, 'capture_withdrawn']);
    await runner.query(BALANCES);
  }

  /** The view stays: by the one before it, what was corrected would count twice, and go back twice. */
  async down(runner: QueryRunner): Promise<void> {
    await constrainKinds(runner, KINDS);
  }
}

const KINDS = [
  ...['captured', 'mismatch', 'held', 'released', 'refund_requested', 'refund_succeeded'],
  ...['refund_failed', 'refund_reversed', 'refund_canceled', 'foreign_refund'],
  ...['foreign_refund_failed', 'disputed', 'dispute_won', 'dispute_lost', 'dispute_returned'],
];

const BALANCES = `
  CREATE OR REPLACE VIEW payment_balances AS
  SELECT order_id, payment_id,
         coalesce(max(currency) FILTER (WHERE kind = 'captured'), max(currency)) AS currency,
         ${sum('captured')} - ${sum('capture_withdrawn')} AS captured,
         ${sum('refund_succeeded', 'foreign_refund')} - ${sum('refund_reversed', 'foreign_refund_failed')} AS refunded,
         ${sum('refund_requested', 'refund_reversed')} - ${sum('refund_succeeded', 'refund_canceled')} AS refunding,
         ${sum('disputed')} - ${sum('dispute_won', 'dispute_returned')} AS disputed,
         ${sum('disputed')} - ${sum('dispute_won', 'dispute_lost')} AS in_dispute,
         ${sum('held')} - ${sum('released')} AS held
    FROM money_movements GROUP BY order_id, payment_id`;
