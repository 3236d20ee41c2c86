import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What is kept of orders that are in a table of a shop's own: what became of them by us, the money that
 * was taken for them, the refunds of it, and what providers have told. Run where a shop has close
 * targets, beside the tables of deadlines, whether the order module's own tables are there or not.
 */
export class CloseTargets1763930000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Positive knowledge: money is only ever sent back for an order that we have closed or paid.
    await runner.query(`
      CREATE TABLE target_orders (
        kind text NOT NULL,
        order_id text NOT NULL,
        status text NOT NULL CHECK (status IN ('closing', 'closed', 'paid')),
        reason text NOT NULL,
        attempts int NOT NULL DEFAULT 0,
        changed_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (kind, order_id)
      )`);
    // Only ever appended, but for an operator's word about what is on hold.
    await runner.query(`
      CREATE TABLE target_payments (
        provider text NOT NULL,
        payment_id text NOT NULL,
        provider_payment_id text NOT NULL,
        kind text NOT NULL,
        order_id text NOT NULL,
        status text NOT NULL CHECK (status IN ('ended', 'captured')),
        amount bigint,
        currency text,
        paid_at timestamptz,
        verdict text CHECK (verdict IN ('pay', 'refund', 'hold', 'keep')),
        hold_reason text,
        settled_by text,
        settled_reason text,
        recorded_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (provider, payment_id, provider_payment_id),
        CHECK ((status = 'captured') = (amount IS NOT NULL AND currency IS NOT NULL AND verdict IS NOT NULL))
      )`);
    await runner.query(
      `CREATE INDEX target_payments_held ON target_payments (recorded_at) WHERE verdict = 'hold'`,
    );
    await runner.query(`
      CREATE TABLE target_refunds (
        id uuid PRIMARY KEY,
        provider text NOT NULL,
        payment_id text NOT NULL,
        provider_payment_id text NOT NULL,
        kind text NOT NULL,
        order_id text NOT NULL,
        amount bigint NOT NULL CHECK (amount > 0),
        currency text NOT NULL,
        reason text NOT NULL,
        status text NOT NULL DEFAULT 'requested'
          CHECK (status IN ('requested', 'pending', 'succeeded', 'failed', 'needs_attention')),
        attempt int NOT NULL DEFAULT 1,
        asked int NOT NULL DEFAULT 0,
        provider_refund_id text,
        error text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz,
        UNIQUE (provider, payment_id, provider_payment_id)
      )`);
    await runner.query(`
      CREATE TABLE target_webhooks (
        id uuid PRIMARY KEY,
        provider text NOT NULL,
        event_id text NOT NULL,
        notice jsonb NOT NULL,
        status text NOT NULL DEFAULT 'received' CHECK (status IN ('received', 'processed', 'held')),
        result text,
        attempts int NOT NULL DEFAULT 0,
        received_at timestamptz NOT NULL DEFAULT now(),
        processed_at timestamptz,
        UNIQUE (provider, event_id)
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TABLE target_webhooks, target_refunds, target_payments, target_orders',
    );
  }
}
