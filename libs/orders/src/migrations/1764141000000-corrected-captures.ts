import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `capture_withdrawn`: what was recorded as taken counts no longer, as an operator goes by the other amount that the
 * provider has told since; that is `captured` beside it.
 */
export class CorrectedCaptures1764141000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await constrain(runner, [...KINDS, 'capture_withdrawn']);
    await runner.query(balances(`${sum('captured')} - ${sum('capture_withdrawn')}`));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(balances(sum('captured')));
    await constrain(runner, KINDS);
  }
}

const KINDS = [
  ...['captured', 'mismatch', 'held', 'released', 'refund_requested', 'refund_succeeded'],
  ...['refund_failed', 'refund_reversed', 'refund_canceled', 'foreign_refund'],
  ...['foreign_refund_failed', 'disputed', 'dispute_won', 'dispute_lost', 'dispute_returned'],
];

/** Rows that exist are not read: each of them met the narrower rule. */
async function constrain(runner: QueryRunner, kinds: readonly string[]): Promise<void> {
  const name = 'money_movements_kind_check';
  await runner.query(`ALTER TABLE money_movements DROP CONSTRAINT ${name}`);
  await runner.query(
    `ALTER TABLE money_movements ADD CONSTRAINT ${name} CHECK (kind IN (${quoted(kinds)})) NOT VALID`,
  );
}

const quoted = (kinds: readonly string[]): string => kinds.map((kind) => `'${kind}'`).join(', ');

const sum = (...kinds: readonly string[]): string =>
  `coalesce(sum(amount) FILTER (WHERE kind IN (${quoted(kinds)})), 0)::bigint`;

const balances = (captured: string): string => `
  CREATE OR REPLACE VIEW payment_balances AS
  SELECT order_id, payment_id,
         coalesce(max(currency) FILTER (WHERE kind = 'captured'), max(currency)) AS currency,
         ${captured} AS captured,
         ${sum('refund_succeeded', 'foreign_refund')} - ${sum('refund_reversed', 'foreign_refund_failed')} AS refunded,
         ${sum('refund_requested', 'refund_reversed')} - ${sum('refund_succeeded', 'refund_canceled')} AS refunding,
         ${sum('disputed')} - ${sum('dispute_won', 'dispute_returned')} AS disputed,
         ${sum('disputed')} - ${sum('dispute_won', 'dispute_lost')} AS in_dispute,
         ${sum('held')} - ${sum('released')} AS held
    FROM money_movements GROUP BY order_id, payment_id`;
