import type { Client } from 'pg';

/**
 * A shop that has been busy for a year: `count` orders with their history, payments, refunds, webhooks,
 * movements of money and deadlines, and everything that may wait for somebody. 30,000 wait for their
 * payment, as many were placed in the hour before them, a tenth of all within the day. For looking at
 * only: no stock. Takes a minute for a million.
 * @returns the id of an order whose money went back
 */
export async function insertBusyYear(client: Client, count: number): Promise<{ orderId: string }> {
  // Keys between tables are ours to keep; an index is built faster than it is filled row by row.
  await client.query('SET session_replication_role = replica');
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(INDEXES);
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
  for (const statement of STATEMENTS) {
    await client.query(statement, statement.includes('$1') ? [count] : []);
  }
  for (const { definition } of indexes) await client.query(definition);
  await client.query('VACUUM ANALYZE');
  await client.query('SET session_replication_role = origin');
  const { rows } = await client.query<{ id: string }>(
    'SELECT p.order_id AS id FROM refunds r JOIN payments p ON p.id = r.payment_id LIMIT 1',
  );
  return { orderId: (rows[0] as { id: string }).id };
}

/** Those of the large tables, but what keeps a key. */
const INDEXES = `
  SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
    FROM pg_index i WHERE NOT i.indisunique AND i.indrelid = ANY (ARRAY[
      'orders', 'order_events', 'payments', 'money_movements', 'webhook_events']::regclass[])`;

const UUID = (ms: string, hash: string, variant: string): string =>
  `(lpad(to_hex(${ms}), 12, '0') || '7' || substr(${hash}, 1, 3) || '${variant}' || substr(${hash}, 4, 15))::uuid`;

const STATEMENTS = [
  `CREATE TEMPORARY TABLE busy AS
   SELECT i, ${UUID('ms', 'hash', '8')} AS id, ${UUID('ms', 'hash', '9')} AS payment_id,
          to_timestamp(ms / 1000.0) AS at, CASE
            WHEN i <= 30000 THEN 'pending_payment'
            WHEN i % 10 < 4 OR i <= 60000 THEN 'closed'
            WHEN i % 10 = 4 THEN 'canceled'
            WHEN i <= 100000 THEN 'paid'
            WHEN i <= 150000 THEN 'shipped'
            ELSE 'completed' END AS status,
          CASE WHEN i % 20 = 0 THEN 'sweep' WHEN i % 50 = 1 THEN 'passive' ELSE 'timer' END AS by
     FROM (SELECT i, md5(i::text) AS hash, now_ms - CASE
                    WHEN i <= 30000 THEN i * 20
                    WHEN i <= 60000 THEN 660000 + (i - 30000) * 90
                    WHEN i <= $1::int / 10 THEN 3600000 + (i - 60000) * 2000
                    ELSE 86400000 + (i - $1::int / 10) * 30000::bigint END AS ms
             FROM generate_series(1, $1::int) AS i,
                  (SELECT floor(extract(epoch FROM now()) * 1000)::bigint AS now_ms) AS clock) AS dated`,
  `INSERT INTO orders (id, customer_id, status, close_reason, amount, currency, version, late_payment,
                       created_at, pay_by, closes_at, closed_at, paid_at, ship_within_ms,
                       event_tx)
   SELECT id, 'customer-' || i % 5000, status,
          CASE WHEN status = 'closed' THEN 'payment_timeout' END, 100 + i % 997, 'EUR', 2, 'refund',
          at, at + interval '10 min', at + interval '11 min',
          CASE WHEN status = 'closed' THEN at + interval '11 min' + i % 400 * interval '1 ms' END,
          CASE WHEN status IN ('paid', 'shipped', 'completed', 'canceled') THEN at + interval '1 min' END,
          30::bigint * 86400000, '1000'
     FROM busy ORDER BY i DESC`,
  `INSERT INTO order_items (order_id, sku, quantity, unit_price)
   SELECT id, 'OLD', 1, 100 FROM busy ORDER BY i DESC`,
  `INSERT INTO order_events (order_id, version, type, from_status, to_status, by, at, tx)
   SELECT id, version, type, from_status, to_status, by, at,
          (1000 + row_number() OVER (ORDER BY at))::text::xid8
     FROM (SELECT id, 1 AS version, 'order.placed' AS type, NULL AS from_status,
                  'pending_payment' AS to_status, 'customer' AS by, at FROM busy WHERE i <= 150000
           UNION ALL
           SELECT id, 2, 'order.' || status, 'pending_payment', status, by,
                  CASE WHEN status = 'closed' THEN at + interval '11 min' ELSE at + interval '1 min' END
             FROM busy WHERE status <> 'pending_payment') AS events ORDER BY at`,
  `INSERT INTO payments (id, order_id, provider, provider_payment_id, status, amount, currency,
                         captured_amount, captured_currency, paid_at, recorded_at, created_at, expires_at)
   SELECT payment_id, id, 'sandbox', 'pay_' || i,
          'succeeded', 100, 'EUR', 100, 'EUR', at, at, at, at
     FROM busy WHERE status NOT IN ('closed', 'pending_payment') ORDER BY i DESC`,
  `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, created_at, updated_at)
   SELECT payment_id, payment_id, 'shipment_timeout', 100, 'EUR',
          CASE WHEN i % 10000 = 4 THEN 'needs_attention' WHEN i % 1000 = 4 THEN 'pending'
               ELSE 'succeeded' END, at, at
     FROM busy WHERE status = 'canceled' ORDER BY i DESC`,
  `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source, at)
   SELECT id, payment_id, 'captured', 'pay', 100, 'EUR', 'webhook', at
     FROM busy WHERE status NOT IN ('closed', 'pending_payment') ORDER BY i DESC`,
  `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source, at)
   SELECT id, payment_id, k.kind, 'dispute', 100, 'EUR', 'webhook', at
     FROM busy, (VALUES ('disputed'), ('dispute_lost')) AS k (kind)
    WHERE i % 100 = 7 AND status = 'completed' AND (k.kind = 'disputed' OR i % 1000 <> 7)
    ORDER BY i DESC`,
  `INSERT INTO webhook_events (id, provider, event_id, notice, status, result, received_at, processed_at)
   SELECT payment_id, 'sandbox', 'event-' || i,
          json_build_object('type', 'payment.succeeded', 'paymentId', payment_id),
          CASE WHEN i % 10000 = 4 THEN 'held' ELSE 'processed' END, 'paid', at, at
     FROM busy WHERE i <= 200000 AND status NOT IN ('closed', 'pending_payment') ORDER BY i DESC`,
  `INSERT INTO operator_actions (at, actor, action, subject_kind, subject_id, reason)
   SELECT at, 'olga', 'refund.retry', 'refund', payment_id, 'asked' FROM busy WHERE i % 100 = 4
    ORDER BY i DESC`,
  // A paid order's payment deadline goes when it fires; the far ones wait for a month.
  `INSERT INTO deadlines (kind, due_at, subject_id, version, far)
   SELECT 'payment', at + interval '11 min', id, 1, false FROM busy
    WHERE status = 'pending_payment' OR i <= 32000`,
  `INSERT INTO deadlines (kind, due_at, subject_id, version, far)
   SELECT CASE status WHEN 'paid' THEN 'shipment' ELSE 'receipt' END, at + interval '30 days', id, 2, true
     FROM busy WHERE status IN ('paid', 'shipped')`,
  `INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error, held_at)
   SELECT 'shipment', id, at, 2, 5, 'it throws', at FROM busy WHERE status = 'paid' AND i % 1000 = 5`,
  // All of it has been relayed; the next transaction's number comes after.
  `UPDATE relay_cursor SET tx_ahead = 10000000, tx_from = '10000000', tx_until = '10000000'`,
];
