import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Webhooks to the shop's own systems: where they go, how far the history has been looked through, and each of them. */
export class WebhookEndpoints1763800300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE webhook_deliveries, webhook_cursor, webhook_endpoints');
  }
}

const UP = [
  // `secret` signs, and `previous_secret` beside it until `previous_until`. `from_tx`: events of
  // earlier transactions were before its time. A deleted one goes once its deliveries are gone.
  `CREATE TABLE webhook_endpoints (
     id              uuid           PRIMARY KEY,
     url             text           NOT NULL,
     events          text[]         NOT NULL CHECK (cardinality(events) > 0),
     status          text           NOT NULL DEFAULT 'on' CHECK (status IN ('on', 'off', 'deleted')),
     status_reason   text,
     status_at       timestamptz(3) NOT NULL DEFAULT now(),
     secret          text           NOT NULL,
     previous_secret text,
     previous_until  timestamptz(3),
     from_tx         xid8           NOT NULL,
     failing_since   timestamptz(3),
     failures        integer        NOT NULL DEFAULT 0,
     paused_until    timestamptz(3),
     delivered_at    timestamptz(3),
     created_at      timestamptz(3) NOT NULL DEFAULT now()
   )`,
  // How far events have been written down as deliveries; one row.
  `CREATE TABLE webhook_cursor (
     only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
     tx_from  xid8    NOT NULL,
     tx_until xid8    NOT NULL,
     last_id  bigint  NOT NULL
   )`,
  `INSERT INTO webhook_cursor (tx_from, tx_until, last_id) VALUES ('0', '0', 0)`,
  // One event for one endpoint; the event itself is in the history. Its id is the webhook's, the same
  // at each attempt. An attempt that is under way is due again when whoever made it must be gone.
  `CREATE TABLE webhook_deliveries (
     id              uuid           PRIMARY KEY DEFAULT gen_random_uuid(),
     number          bigint         GENERATED ALWAYS AS IDENTITY,
     endpoint_id     uuid           NOT NULL,
     order_id        uuid           NOT NULL,
     version         integer        NOT NULL,
     type            text           NOT NULL,
     status          text           NOT NULL DEFAULT 'pending'
       CHECK (status IN ('pending', 'delivered', 'dead')),
     attempts        integer        NOT NULL DEFAULT 0,
     next_attempt_at timestamptz(3) NOT NULL DEFAULT now(),
     retry_until     timestamptz(3) NOT NULL,
     answer          integer,
     error           text,
     created_at      timestamptz(3) NOT NULL DEFAULT now(),
     settled_at      timestamptz(3)
   ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)`,
  'CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (endpoint_id, order_id, version)',
  `CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, next_attempt_at)
    WHERE status = 'pending'`,
  `CREATE INDEX webhook_deliveries_dead ON webhook_deliveries (endpoint_id, settled_at)
    WHERE status = 'dead'`,
  `CREATE INDEX webhook_deliveries_of_endpoint ON webhook_deliveries (endpoint_id, number)`,
  `CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (settled_at)
    WHERE settled_at IS NOT NULL`,
  `CREATE INDEX webhook_deliveries_given_up ON webhook_deliveries (retry_until)
    WHERE status = 'pending'`,
];
