import type { MigrationInterface, QueryRunner } from 'typeorm';
import { constrainKinds, sum } from './money-kinds';

/** `dispute_returned`: a part of a dispute that is lost comes back all the same, and is disputed no more. */
export class DisputesLostInPart1764132000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await constrainKinds(runner, [...KINDS, 'dispute_returned']);
    await runner.query(balances('dispute_won', 'dispute_returned'));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(balances('dispute_won'));
    await constrainKinds(runner, KINDS);
  }
}

const KINDS = [
  ...['captured', 'mismatch', 'held', 'released', 'refund_requested', 'refund_succeeded'],
  ...['refund_failed', 'refund_reversed', 'refund_canceled', 'foreign_refund'],
  ...['foreign_refund_failed', 'disputed', 'dispute_won', 'dispute_lost'],
];

/** `endDisputes`: kinds by which money is disputed no more. */
const balances = (...endDisputes: readonly string[]): string => `
  CREATE OR REPLACE VIEW payment_balances AS
  SELECT order_id, payment_id,
         coalesce(max(currency) FILTER (WHERE kind = 'captured'), max(currency)) AS currency,
         ${sum('captured')} AS captured,
         ${sum('refund_succeeded', 'foreign_refund')} - ${sum('refund_reversed', 'foreign_refund_failed')} AS refunded,
         ${sum('refund_requested', 'refund_reversed')} - ${sum('refund_succeeded', 'refund_canceled')} AS refunding,
         ${sum('disputed')} - ${sum(...endDisputes)} AS disputed,
         ${sum('disputed')} - ${sum('dispute_won', 'dispute_lost')} AS in_dispute,
         ${sum('held')} - ${sum('released')} AS held
    FROM money_movements GROUP BY order_id, payment_id`;
