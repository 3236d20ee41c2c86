import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Money after "paid": append-only movements of each payment, the balance that they add up to, and
 * what the tables of before say about the money that has moved already.
 */
export class MoneyMovements1763700100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...UP, ...MOVED_SO_FAR, HISTORY_IS_READ_ONLY]) {
      await runner.query(statement);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW payment_balances');
    await runner.query('DROP TABLE money_movements');
    await runner.query('DROP INDEX refunds_one_a_reason, refunds_of_payment');
    await runner.query('ALTER TABLE refunds ADD UNIQUE (payment_id, reason)');
  }
}

const UP = [
  // What happened to the money of one payment. `ref` makes a movement unique: the provider's id of
  // the payment, the refund or the dispute; our refund's id while the provider has none.
  `CREATE TABLE money_movements (
     id         bigint         GENERATED ALWAYS AS IDENTITY,
     order_id   uuid           NOT NULL,
     payment_id uuid           NOT NULL,
     kind       text           NOT NULL CHECK (kind IN (
       'captured', 'mismatch', 'held', 'released',
       'refund_requested', 'refund_succeeded', 'refund_failed', 'refund_reversed', 'refund_canceled',
       'foreign_refund', 'foreign_refund_failed', 'disputed', 'dispute_won', 'dispute_lost')),
     ref        text           NOT NULL,
     amount     bigint         NOT NULL CHECK (amount >= 0),
     currency   text           NOT NULL,
     source     text           NOT NULL CHECK (source IN
       ('webhook', 'answer', 'reconcile', 'operator', 'customer', 'system', 'migration')),
     reason     text,
     at         timestamptz(3) NOT NULL DEFAULT now(),
     PRIMARY KEY (payment_id, kind, ref)
   )`,
  'CREATE INDEX money_movements_of_order ON money_movements (order_id)',
  // What a payment holds. `refunding` is owed and has not gone back; `disputed` is what disputes
  // that are open or lost have taken; a mismatch and a failed attempt move nothing.
  `CREATE VIEW payment_balances AS
   SELECT order_id, payment_id, currency,
          ${sum(['captured'])} AS captured,
          ${sum(['refund_succeeded', 'foreign_refund'])}
            - ${sum(['refund_reversed', 'foreign_refund_failed'])} AS refunded,
          ${sum(['refund_requested', 'refund_reversed'])}
            - ${sum(['refund_succeeded', 'refund_canceled'])} AS refunding,
          ${sum(['disputed'])} - ${sum(['dispute_won'])} AS disputed,
          ${sum(['disputed'])} - ${sum(['dispute_won', 'dispute_lost'])} AS in_dispute,
          ${sum(['held'])} - ${sum(['released'])} AS held
     FROM money_movements GROUP BY order_id, payment_id, currency`,
  // An operator may refund a payment in parts; everybody else once for each reason.
  'ALTER TABLE refunds DROP CONSTRAINT refunds_payment_id_reason_key',
  `CREATE UNIQUE INDEX refunds_one_a_reason ON refunds (payment_id, reason)
    WHERE reason <> 'operator'`,
  'CREATE INDEX refunds_of_payment ON refunds (payment_id)',
];

function sum(kinds: readonly string[]): string {
  const list = kinds.map((kind) => `'${kind}'`).join(', ');
  return `coalesce(sum(amount) FILTER (WHERE kind IN (${list})), 0)::bigint`;
}

const WRITE = `INSERT INTO money_movements
  (order_id, payment_id, kind, ref, amount, currency, source, reason, at)`;

const REFUNDS = 'FROM refunds r JOIN payments p ON p.id = r.payment_id';
const AT_PROVIDER = 'coalesce(r.provider_refund_id, r.id::text)';

const MOVED_SO_FAR = [
  `${WRITE}
   SELECT order_id, id, 'captured', coalesce(provider_payment_id, id::text), captured_amount,
          captured_currency, 'migration', NULL, coalesce(recorded_at, paid_at, created_at)
     FROM payments WHERE status = 'succeeded' AND captured_amount IS NOT NULL`,
  `${WRITE}
   SELECT order_id, id, 'held', hold_reason, captured_amount, captured_currency, 'migration',
          hold_reason, coalesce(recorded_at, created_at)
     FROM payments WHERE hold_reason IS NOT NULL AND captured_amount IS NOT NULL`,
  `${WRITE}
   SELECT p.order_id, p.id, 'refund_requested', r.id, r.amount, r.currency, 'migration', r.reason,
          r.created_at ${REFUNDS}`,
  `${WRITE}
   SELECT p.order_id, p.id, 'refund_succeeded', ${AT_PROVIDER}, r.amount, r.currency, 'migration',
          r.reason, coalesce(r.finished_at, r.updated_at) ${REFUNDS} WHERE r.status = 'succeeded'`,
  `${WRITE}
   SELECT p.order_id, p.id, 'refund_failed', ${AT_PROVIDER}, r.amount, r.currency, 'migration',
          r.error, r.updated_at ${REFUNDS} WHERE r.status IN ('failed', 'needs_attention')`,
];

const HISTORY_IS_READ_ONLY = `
  DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
      GRANT SELECT, INSERT ON money_movements TO lastcall_app;
      REVOKE UPDATE, DELETE ON money_movements FROM lastcall_app;
      GRANT SELECT ON payment_balances TO lastcall_app;
      REVOKE INSERT, UPDATE, DELETE ON payment_balances FROM lastcall_app;
    END IF;
  END $$`;
