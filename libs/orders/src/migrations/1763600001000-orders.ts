import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Orders, their lines and their history. The tables that every order writes to have no foreign
 * keys between them (docs/adr/0005): they are written in one transaction and checked by invariants.
 */
export class Orders1763600001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP TABLE relay_cursor, webhook_events, refunds, payments, idempotency_keys,
                  order_events, order_items, orders, products`,
    );
  }
}

const UP = [
  // What is sold and how much of it there is. Hot: many orders update the same few rows.
  `CREATE TABLE products (
     sku        text    PRIMARY KEY,
     name       text    NOT NULL,
     unit_price bigint  NOT NULL CHECK (unit_price >= 0),
     currency   char(3) NOT NULL,
     on_hand    integer NOT NULL,
     available  integer NOT NULL CHECK (available >= 0),
     reserved   integer NOT NULL DEFAULT 0 CHECK (reserved >= 0),
     sold       integer NOT NULL DEFAULT 0 CHECK (sold >= 0),
     CONSTRAINT stock_adds_up CHECK (on_hand = available + reserved + sold)
   ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`,

  // What the customer placed. No index names a column that changes, and pages are filled to less
  // than a half: every order changes at least once, at the time of its neighbours, and so stays HOT.
  `CREATE TABLE orders (
     id                uuid           PRIMARY KEY,
     customer_id       text           NOT NULL,
     status            text           NOT NULL CHECK (status IN
       ('pending_payment', 'closing', 'paid', 'shipped', 'completed', 'closed', 'canceled')),
     close_reason      text           CHECK (close_reason IN
       ('payment_timeout', 'customer_canceled', 'operator_closed', 'shipment_timeout')),
     amount            bigint         NOT NULL CHECK (amount >= 0),
     currency          char(3)        NOT NULL,
     version           integer        NOT NULL DEFAULT 1,
     late_payment      text           NOT NULL CHECK (late_payment IN ('refund', 'revive', 'hold')),
     extended          boolean        NOT NULL DEFAULT false,
     ship_within_ms    bigint,
     receive_within_ms bigint,
     created_at        timestamptz(3) NOT NULL DEFAULT now(),
     pay_by            timestamptz(3),
     closes_at         timestamptz(3),
     paid_at           timestamptz(3),
     closed_at         timestamptz(3),
     shipped_at        timestamptz(3),
     completed_at      timestamptz(3),
     canceled_at       timestamptz(3)
   ) WITH (fillfactor = 45)`,
  `CREATE INDEX orders_of_customer ON orders (customer_id, id)`,

  // What each order holds; the price is the one of the moment it was placed.
  `CREATE TABLE order_items (
     order_id   uuid    NOT NULL,
     sku        text    NOT NULL,
     quantity   integer NOT NULL CHECK (quantity > 0),
     unit_price bigint  NOT NULL CHECK (unit_price >= 0),
     PRIMARY KEY (order_id, sku)
   )`,

  // Append-only: the audit trail and the outbox in one. `tx` is what the relay reads by.
  `CREATE TABLE order_events (
     id          bigint         GENERATED ALWAYS AS IDENTITY,
     order_id    uuid           NOT NULL,
     version     integer        NOT NULL,
     type        text           NOT NULL,
     from_status text,
     to_status   text           NOT NULL,
     by          text           NOT NULL,
     actor       text,
     reason      text,
     at          timestamptz(3) NOT NULL DEFAULT now(),
     tx          xid8           NOT NULL DEFAULT pg_current_xact_id(),
     PRIMARY KEY (order_id, version),
     CONSTRAINT operators_give_reasons
       CHECK (by <> 'operator' OR (actor IS NOT NULL AND reason IS NOT NULL))
   )`,
  `CREATE INDEX order_events_by_tx ON order_events (tx)`,

  // One attempt to pay an order at a provider.
  `CREATE TABLE payments (
     id                  uuid           PRIMARY KEY,
     order_id            uuid           NOT NULL REFERENCES orders (id),
     provider            text           NOT NULL,
     provider_payment_id text,
     status              text           NOT NULL DEFAULT 'open'
       CHECK (status IN ('open', 'succeeded', 'failed', 'closed')),
     amount              bigint         NOT NULL CHECK (amount > 0),
     currency            char(3)        NOT NULL,
     checkout_url        text,
     captured_amount     bigint         CHECK (captured_amount >= 0),
     captured_currency   text,
     paid_at             timestamptz(3),
     recorded_at         timestamptz(3),
     hold_reason         text,
     created_at          timestamptz(3) NOT NULL DEFAULT now(),
     expires_at          timestamptz(3) NOT NULL,
     UNIQUE (provider, provider_payment_id)
   )`,
  `CREATE INDEX payments_of_order ON payments (order_id)`,

  // Money going back for one payment: a row before it is a call.
  `CREATE TABLE refunds (
     id                 uuid           PRIMARY KEY,
     payment_id         uuid           NOT NULL REFERENCES payments (id),
     reason             text           NOT NULL,
     amount             bigint         NOT NULL CHECK (amount > 0),
     currency           text           NOT NULL,
     status             text           NOT NULL DEFAULT 'requested'
       CHECK (status IN ('requested', 'pending', 'succeeded', 'failed', 'needs_attention')),
     attempt            integer        NOT NULL DEFAULT 1,
     provider_refund_id text,
     error              text,
     created_at         timestamptz(3) NOT NULL DEFAULT now(),
     updated_at         timestamptz(3) NOT NULL DEFAULT now(),
     finished_at        timestamptz(3),
     UNIQUE (payment_id, reason)
   )`,
  `CREATE INDEX refunds_unfinished ON refunds (created_at) WHERE status <> 'succeeded'`,

  // The inbox: a webhook is here before it is answered.
  `CREATE TABLE webhook_events (
     id           uuid           PRIMARY KEY,
     provider     text           NOT NULL,
     event_id     text           NOT NULL,
     notice       jsonb          NOT NULL,
     status       text           NOT NULL DEFAULT 'received'
       CHECK (status IN ('received', 'processed', 'held')),
     result       text,
     received_at  timestamptz(3) NOT NULL DEFAULT now(),
     processed_at timestamptz(3),
     UNIQUE (provider, event_id)
   )`,
  `CREATE INDEX webhook_events_open ON webhook_events (received_at) WHERE status <> 'processed'`,
  `CREATE INDEX webhook_events_by_age ON webhook_events (received_at)`,

  // One key, one order.
  `CREATE TABLE idempotency_keys (
     customer_id text           NOT NULL,
     key         text           NOT NULL,
     body_hash   text           NOT NULL,
     order_id    uuid           NOT NULL,
     created_at  timestamptz(3) NOT NULL DEFAULT now(),
     PRIMARY KEY (customer_id, key)
   )`,
  `CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at)`,

  // How far the event relay has come; one row. An advisory lock makes one relay the leader.
  `CREATE TABLE relay_cursor (
     only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
     tx_from    xid8    NOT NULL,
     tx_until   xid8    NOT NULL,
     last_id    bigint  NOT NULL,
     relayed_at timestamptz(3) NOT NULL DEFAULT now()
   )`,
  `INSERT INTO relay_cursor (tx_from, tx_until, last_id) VALUES ('0', '0', 0)`,
];
