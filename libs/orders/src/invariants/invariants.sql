-- The invariants of lastcall. Each is one query that returns the number of violations: 0, always.
-- Run by run-invariants.ts, which fills in:
--   :limit_ms  how late is too late: a sweep interval plus the time one drain takes
--   :since_tx  look at orders with a history row of this transaction or a later one; '0' = at all
-- Each query is one statement, so that it sees one snapshot of a shop that goes on selling.
-- 1 and the cheap part of 7 always look at everything, which is little: what is open is in
-- `deadlines`. 7 compares what was sold with the orders for :since_tx = '0' only. The others are
-- bounded by :since_tx.

-- 1. not_overdue: No order is overdue by more than a sweep interval plus the time one drain takes
-- What keeps failing on its own backs off (failures > 0) and is then held: poison, counted elsewhere.
WITH late AS (SELECT now() - :limit_ms * interval '1 millisecond' AS before)
SELECT (SELECT count(*) FROM deadlines, late
         WHERE kind IN ('payment', 'closing', 'shipment', 'receipt', 'refund', 'webhook')
           AND due_at < before AND failures = 0)
     + (SELECT count(DISTINCT o.id) FROM late, deadlines d JOIN orders o ON o.id = d.subject_id
         WHERE d.kind = 'payment' AND d.due_at >= before AND d.due_at < now() + interval '1 minute'
           AND d.failures = 0 AND o.status = 'pending_payment' AND o.closes_at < before)
    AS violations;

-- 2. not_early: No order was closed by a timeout before closesAt
SELECT count(DISTINCT o.id) AS violations
  FROM order_events e JOIN orders o ON o.id = e.order_id
 WHERE e.tx >= :since_tx::xid8 AND e.to_status IN ('closing', 'closed')
   AND e.from_status = 'pending_payment' AND e.by IN ('timer', 'sweep', 'passive')
   AND (o.closes_at IS NULL OR e.at < o.closes_at OR o.closed_at < o.closes_at);

-- 3. timestamps_agree: No order is both paid and closed; timestamps agree with the status
SELECT count(*) AS violations FROM orders
 WHERE id IN (SELECT order_id FROM order_events WHERE tx >= :since_tx::xid8)
   AND NOT CASE status
     WHEN 'pending_payment' THEN num_nonnulls(paid_at, closed_at, canceled_at, shipped_at,
                                              completed_at, close_reason) = 0
     WHEN 'closing' THEN num_nonnulls(paid_at, closed_at, canceled_at, shipped_at,
                                      completed_at) = 0 AND close_reason IS NOT NULL
     WHEN 'closed' THEN num_nulls(closed_at, close_reason) = 0
                        AND num_nonnulls(paid_at, canceled_at, shipped_at, completed_at) = 0
     WHEN 'paid' THEN paid_at IS NOT NULL
                      AND num_nonnulls(closed_at, canceled_at, shipped_at, completed_at,
                                       close_reason) = 0
     WHEN 'shipped' THEN coalesce(paid_at <= shipped_at, false)
                         AND num_nonnulls(closed_at, canceled_at, completed_at, close_reason) = 0
     WHEN 'completed' THEN coalesce(paid_at <= shipped_at AND shipped_at <= completed_at, false)
                           AND num_nonnulls(closed_at, canceled_at, close_reason) = 0
     WHEN 'canceled' THEN coalesce(paid_at <= canceled_at, false) AND close_reason IS NOT NULL
                          AND num_nonnulls(closed_at, shipped_at, completed_at) = 0
   END;

-- 4. history_unbroken: One history row leaves each status visit; the chain ends at the order's status
WITH changed AS (SELECT DISTINCT order_id FROM order_events WHERE tx >= :since_tx::xid8),
chain AS (
  SELECT e.order_id, e.version, e.from_status, e.to_status,
         row_number() OVER visits AS place,
         lag(e.to_status) OVER visits AS previous,
         lead(e.version) OVER visits AS next
    FROM order_events e JOIN changed USING (order_id)
  WINDOW visits AS (PARTITION BY e.order_id ORDER BY e.version, e.id)
), broken AS (
  SELECT c.order_id FROM chain c LEFT JOIN orders o ON o.id = c.order_id
   WHERE c.version <> c.place OR c.from_status IS DISTINCT FROM c.previous
      OR (c.next IS NULL AND (o.status IS DISTINCT FROM c.to_status
                              OR o.version IS DISTINCT FROM c.version))
      OR (coalesce(c.from_status, 'none'), c.to_status) NOT IN (
           ('none', 'pending_payment'), ('pending_payment', 'pending_payment'), ('paid', 'paid'),
           ('pending_payment', 'paid'), ('pending_payment', 'closing'),
           ('pending_payment', 'closed'), ('closing', 'paid'), ('closing', 'closed'),
           ('paid', 'shipped'), ('paid', 'canceled'), ('shipped', 'completed'), ('closed', 'paid'))
  UNION
  -- An order without any history, among those as young as the history looked at.
  SELECT o.id FROM orders o
   WHERE (:since_tx = '0' OR o.id >= (SELECT order_id FROM order_events
                                       WHERE tx >= :since_tx::xid8 AND version = 1
                                       ORDER BY order_id LIMIT 1))
     AND NOT EXISTS (SELECT 1 FROM order_events e WHERE e.order_id = o.id)
)
SELECT count(*) AS violations FROM broken;

-- 5. money_has_a_home: Captured money belongs to a paid order, or goes back, or is on hold
-- Counted by order: what is kept (captured, not on hold, not going back) is the amount of an order
-- that is paid, once; for one that is not, nothing is left that has not gone back or been disputed. An operator's refund leaves the order paid,
-- and so does a notice that contradicts the money it was paid with, which is put on hold. What an
-- operator has decided to keep beside that is the shop's. Money that one has corrected is what it was corrected to last.
-- Of money that was sent back as nobody's of ours ("stranded") nothing is left with any order.
WITH seen AS (
  SELECT DISTINCT order_id FROM order_events WHERE tx >= :since_tx::xid8
  UNION
  -- Late money changes no order: it is found by the webhook that told of it.
  SELECT p.order_id FROM webhook_events w
    JOIN payments p ON p.id = CASE WHEN w.notice ->> 'paymentId' ~ '^[0-9a-f-]{36}$'
                                   THEN (w.notice ->> 'paymentId')::uuid END
   WHERE w.received_at >= coalesce((SELECT min(at) FROM order_events WHERE tx >= :since_tx::xid8),
                                   '-infinity')
), kept AS (
  SELECT o.id, o.status, o.amount, o.currency, count(p.id) FILTER (WHERE stays) AS payments,
         coalesce(sum(p.captured_amount) FILTER (WHERE stays), 0) AS captured,
         coalesce(sum(greatest(b.captured - b.refunded - b.refunding - b.disputed, 0)), 0) AS rest,
         coalesce(sum(greatest(b.captured - b.refunded - b.refunding - b.disputed, 0))
                    FILTER (WHERE NOT stays), 0) AS stranded,
         coalesce(bool_and(p.captured_currency = o.currency) FILTER (WHERE stays), true)
           AS same_currency,
         EXISTS (SELECT 1 FROM payments h WHERE h.order_id = o.id AND h.hold_reason IS NOT NULL)
           AS on_hold,
         max(c.amount) FILTER (WHERE stays) AS corrected
    FROM orders o
    LEFT JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded' AND p.hold_reason IS NULL
     AND NOT EXISTS (SELECT 1 FROM operator_actions a
                      WHERE a.subject_id = p.id AND a.action = 'payment.keep')
    LEFT JOIN LATERAL (SELECT * FROM payment_balances m
                        WHERE m.payment_id = p.id AND m.currency = p.captured_currency) AS b ON true
    LEFT JOIN LATERAL (SELECT NOT EXISTS (
      SELECT 1 FROM refunds r WHERE r.payment_id = p.id AND r.reason <> 'operator'
    ) AS stays) AS s ON p.id IS NOT NULL
    LEFT JOIN LATERAL (
      SELECT m.amount FROM money_movements m
        JOIN money_movements w USING (payment_id, ref)
       WHERE m.payment_id = p.id AND m.kind = 'captured' AND w.kind = 'capture_withdrawn'
         AND EXISTS (SELECT 1 FROM operator_actions a
                      WHERE a.subject_id = p.id AND a.action = 'payment.correct')
       ORDER BY m.id DESC LIMIT 1) AS c ON true
   WHERE o.id IN (SELECT order_id FROM seen)
   GROUP BY o.id
), counts AS (
  SELECT count(*) AS n FROM kept
   WHERE NOT CASE WHEN status IN ('paid', 'shipped', 'completed')
                  THEN payments <= 1 AND stranded = 0
                       AND (captured = coalesce(corrected, amount) AND same_currency OR on_hold)
                  ELSE rest = 0 END
)
SELECT n + (SELECT count(*) FROM payments
             WHERE order_id IN (SELECT order_id FROM seen)
               AND (status = 'succeeded') <> (num_nulls(captured_amount, captured_currency) = 0))
    AS violations
  FROM counts;

-- 6. refunds_within_capture: A payment's refunds never exceed what was captured, one live one a reason
-- But for an operator's, and for money that came back to us in parts: each part goes out again.
SELECT count(*) AS violations FROM (
  SELECT r.payment_id FROM refunds r JOIN payments p ON p.id = r.payment_id
   WHERE r.payment_id IN (
     SELECT payment_id FROM refunds
      WHERE status NOT IN ('succeeded', 'canceled')
         OR created_at >= coalesce((SELECT min(at) FROM order_events WHERE tx >= :since_tx::xid8),
                                   '-infinity'))
   GROUP BY r.payment_id, p.captured_amount, p.captured_currency
  HAVING sum(r.amount) FILTER (WHERE r.status <> 'canceled') > coalesce(p.captured_amount, 0)
      OR bool_or(r.currency IS DISTINCT FROM p.captured_currency)
      OR count(*) FILTER (WHERE r.status NOT IN ('needs_attention', 'canceled')
                            AND r.reason NOT IN ('operator', 'returned_money'))
           > count(DISTINCT r.reason) FILTER (WHERE r.reason NOT IN ('operator', 'returned_money'))
) AS exceeding;

-- 7. stock_adds_up: Per SKU on hand = available + reserved + sold; each release has its reservation
-- What is not folded yet still stands where it was before: reserved, or sold where it is restocked.
WITH unfolded AS (
  SELECT sku, coalesce(sum(quantity) FILTER (WHERE effect IN ('release', 'sell')), 0) AS leaving,
         coalesce(sum(quantity) FILTER (WHERE effect = 'sell'), 0)
           - coalesce(sum(quantity) FILTER (WHERE effect = 'restock'), 0) AS selling
    FROM unfolded_stock_movements GROUP BY sku
), open AS (
  SELECT i.sku, sum(i.quantity) AS quantity FROM order_items i JOIN orders o ON o.id = i.order_id
   WHERE o.status IN ('pending_payment', 'closing')
     AND (:since_tx = '0' OR o.id IN (
       SELECT subject_id FROM deadlines WHERE kind IN ('payment', 'closing')
       UNION SELECT subject_id FROM held_deadlines WHERE kind IN ('payment', 'closing')))
   GROUP BY i.sku
), gone AS (
  SELECT i.sku, sum(i.quantity - coalesce(r.quantity, 0)) AS quantity
    FROM order_items i JOIN orders o ON o.id = i.order_id
    LEFT JOIN (SELECT order_id, sku, sum(quantity) AS quantity FROM order_returns
                GROUP BY order_id, sku) AS r ON r.order_id = i.order_id AND r.sku = i.sku
   WHERE o.status IN ('paid', 'shipped', 'completed') AND :since_tx = '0'
   GROUP BY i.sku
)
SELECT count(*) AS violations
  FROM products p LEFT JOIN open USING (sku) LEFT JOIN gone USING (sku)
  LEFT JOIN unfolded u USING (sku)
 WHERE p.on_hand <> p.available + p.reserved + p.sold OR least(p.available, p.reserved, p.sold) < 0
    OR p.reserved - coalesce(u.leaving, 0) <> coalesce(open.quantity, 0)
    OR (:since_tx = '0' AND p.sold + coalesce(u.selling, 0) <> coalesce(gone.quantity, 0));

-- 8. webhooks_settled: Every stored webhook is processed, waits for its turn, or is held with a reason
-- That every webhook answered with 2xx is stored is shown by the tests, who know what was answered.
WITH seen AS (
  SELECT * FROM webhook_events
   WHERE status <> 'processed'
      OR received_at >= coalesce((SELECT min(at) FROM order_events WHERE tx >= :since_tx::xid8),
                                 '-infinity')
)
SELECT count(*) AS violations FROM seen w
 WHERE CASE status
     WHEN 'received' THEN
       NOT EXISTS (SELECT 1 FROM deadlines d WHERE d.kind = 'webhook' AND d.subject_id = w.id)
       AND NOT EXISTS (SELECT 1 FROM held_deadlines d
                        WHERE d.kind = 'webhook' AND d.subject_id = w.id)
     WHEN 'held' THEN result IS NULL
     ELSE result IS NULL OR processed_at IS NULL
       -- Money that was told of and processed is in the books.
       OR (notice ->> 'type' = 'payment.succeeded' AND result <> 'dismissed' AND NOT EXISTS (
             SELECT 1 FROM payments p JOIN payments paid ON paid.order_id = p.order_id
              WHERE p.id = CASE WHEN notice ->> 'paymentId' ~ '^[0-9a-f-]{36}$'
                                THEN (notice ->> 'paymentId')::uuid END
                AND paid.status = 'succeeded'
                AND coalesce(paid.provider_payment_id = notice ->> 'providerPaymentId', true)))
   END;

-- 9. deadlines_present: Every order whose status has a deadline has that deadline's row, or it is held
-- So has every refund that is under way.
WITH waiting AS (
  SELECT id, closes_at AS due_at, CASE
           WHEN status = 'pending_payment' AND closes_at IS NOT NULL THEN 'payment'
           WHEN status = 'closing' THEN 'closing'
           WHEN status = 'paid' AND ship_within_ms IS NOT NULL THEN 'shipment'
           WHEN status = 'shipped' AND receive_within_ms IS NOT NULL THEN 'receipt' END AS kind
    FROM orders WHERE id IN (SELECT order_id FROM order_events WHERE tx >= :since_tx::xid8)
  UNION ALL
  SELECT id, NULL, 'refund' FROM refunds WHERE status IN ('requested', 'pending', 'failed')
)
SELECT count(*) AS violations FROM waiting w
 WHERE kind IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM held_deadlines d WHERE d.kind = w.kind AND d.subject_id = w.id)
   -- A payment deadline from before an extension fires too early to close anything.
   AND NOT EXISTS (SELECT 1 FROM deadlines d WHERE d.kind = w.kind AND d.subject_id = w.id
                      AND (w.kind <> 'payment' OR d.due_at >= w.due_at));

-- 10. one_each: One idempotency key, one order; one webhook, one row; one provider payment, one payment
WITH from_at AS (
  SELECT coalesce((SELECT min(at) FROM order_events WHERE tx >= :since_tx::xid8), '-infinity') AS at
), seen AS (SELECT DISTINCT order_id FROM order_events WHERE tx >= :since_tx::xid8),
duplicates AS (
  SELECT 1 FROM idempotency_keys, from_at WHERE created_at >= at GROUP BY customer_id, key
  HAVING count(*) > 1
  UNION ALL
  SELECT 1 FROM idempotency_keys, from_at WHERE created_at >= at GROUP BY order_id
  HAVING count(*) > 1
  UNION ALL
  SELECT 1 FROM webhook_events, from_at WHERE received_at >= at GROUP BY provider, event_id
  HAVING count(*) > 1
  UNION ALL
  SELECT 1 FROM payments WHERE order_id IN (SELECT order_id FROM seen)
   GROUP BY provider, provider_payment_id HAVING count(provider_payment_id) > 1
  UNION ALL
  -- A key whose order was never written.
  SELECT 1 FROM idempotency_keys k, from_at WHERE k.created_at >= at
     AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = k.order_id)
)
SELECT count(*) AS violations FROM duplicates;

-- 11. operators_accountable: Every operator's change has an actor and a reason
SELECT count(*) AS violations FROM order_events
 WHERE tx >= :since_tx::xid8 AND by = 'operator'
   AND (coalesce(btrim(actor), '') = '' OR coalesce(btrim(reason), '') = '');

-- 12. events_relayed: Every order event reaches the event stream, in order per order
-- The relay sends by window of transactions, by id within it. So two things must hold: nothing older
-- than the limit is ahead of its cursor, and along an order's versions the ids and the transactions'
-- places grow. That the stream really got what the cursor says is shown by the tests.
WITH changed AS (SELECT DISTINCT order_id FROM order_events WHERE tx >= :since_tx::xid8),
sent AS (
  SELECT e.order_id, e.version, e.id, lag(e.id) OVER visits AS id_before,
         e.tx, lag(e.tx) OVER visits AS tx_before
    FROM order_events e JOIN changed USING (order_id)
  WINDOW visits AS (PARTITION BY e.order_id ORDER BY e.version)
)
SELECT (SELECT count(*) FROM sent WHERE id_before > id OR tx_before > tx)
     -- That there are very many is enough to know.
     + (SELECT count(*) FROM (
          SELECT 1 FROM order_events e, relay_cursor c
           WHERE e.tx >= c.tx_from AND (e.tx >= c.tx_until OR e.id > c.last_id)
             AND e.at < now() - :limit_ms * interval '1 millisecond' LIMIT 10000) AS waiting)
     + (SELECT abs(count(*) - 1) FROM relay_cursor)
     -- A history that is ahead of this cluster's transactions, or was: nothing new would be relayed.
     + (EXISTS (SELECT FROM relay_cursor WHERE stuck_at IS NOT NULL) OR history_reaches() > event_tx(pg_snapshot_xmax(pg_current_snapshot())))::int AS violations;

-- 13. balances_add_up: An order's balance is the sum of its money movements, and its books agree
-- The rows of payments and refunds say what the movements add up to. What we send back is at most
-- what was captured and not taken otherwise; others may take more than there is. That the movements
-- equal the provider's ledger is shown by the tests, who can read both.
WITH seen AS (
  SELECT DISTINCT order_id FROM order_events WHERE tx >= :since_tx::xid8
  UNION
  SELECT order_id FROM money_movements
   WHERE at >= coalesce((SELECT min(at) FROM order_events WHERE tx >= :since_tx::xid8), '-infinity')
), refunds_of AS (
  SELECT p.id, coalesce(sum(r.amount) FILTER (WHERE r.status = 'succeeded'), 0) AS refunded,
         coalesce(sum(r.amount) FILTER (WHERE r.status IN
           ('requested', 'pending', 'failed', 'needs_attention')), 0) AS refunding
    FROM payments p LEFT JOIN refunds r ON r.payment_id = p.id
   WHERE p.order_id IN (SELECT order_id FROM seen) GROUP BY p.id
), others AS (
  SELECT payment_id, sum(CASE kind WHEN 'foreign_refund' THEN amount ELSE -amount END) AS refunded
    FROM money_movements
   WHERE kind IN ('foreign_refund', 'foreign_refund_failed')
     AND order_id IN (SELECT order_id FROM seen)
   GROUP BY payment_id
), apart AS (
  SELECT p.id FROM payments p JOIN refunds_of r USING (id)
    LEFT JOIN LATERAL (
      SELECT * FROM payment_balances m WHERE m.payment_id = p.id AND m.order_id = p.order_id
         AND m.currency = coalesce(p.captured_currency, m.currency)) AS b ON true
    LEFT JOIN others o ON o.payment_id = p.id
   WHERE coalesce(p.captured_amount, 0) <> coalesce(b.captured, 0)
      OR r.refunded + coalesce(o.refunded, 0) <> coalesce(b.refunded, 0)
      OR r.refunding <> coalesce(b.refunding, 0)
      OR (p.hold_reason IS NOT NULL) <> EXISTS (
           SELECT 1 FROM money_movements h WHERE h.payment_id = p.id AND h.kind = 'held'
              AND NOT EXISTS (SELECT 1 FROM money_movements e WHERE e.payment_id = p.id
                                 AND e.kind = 'released' AND e.ref = h.ref))
      OR least(b.disputed, b.in_dispute, b.refunding, b.refunded, b.held) < 0
      OR b.in_dispute > b.disputed
), unpaid AS (
  -- Shipped without its money having come; what went back afterwards says why in its movement.
  SELECT o.id FROM orders o
   WHERE o.id IN (SELECT order_id FROM seen) AND o.status IN ('shipped', 'completed')
     AND o.amount > coalesce((SELECT sum(b.captured) FROM payment_balances b
                               WHERE b.order_id = o.id AND b.currency = o.currency), 0)
     AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id
                        AND (p.hold_reason IS NOT NULL OR EXISTS (
                          SELECT 1 FROM operator_actions a WHERE a.subject_id = p.id)))
), untold AS (
  -- It would be closed while a payment of it may still be open.
  SELECT o.id FROM orders o
   WHERE o.id IN (SELECT order_id FROM seen) AND o.status = 'pending_payment'
     AND NOT o.has_payments AND EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id)
)
SELECT (SELECT count(*) FROM apart) + (SELECT count(*) FROM unpaid)
     + (SELECT count(*) FROM untold) AS violations;

-- 14. stock_moved_by_orders: No stock is held or released but by an order's own movements
-- A transaction's movements, folded or not, are the lines of the orders that it changed, and what came
-- back of orders: of none more than was bought. One that moved nothing is 7's to find.
WITH movements AS (
  SELECT id, tx, sku, effect, quantity FROM stock_movements WHERE tx >= :since_tx::xid8
  UNION ALL
  SELECT id, tx, sku, effect, quantity FROM unfolded_stock_movements WHERE tx >= :since_tx::xid8
), moved AS (
  SELECT tx, sku, effect, sum(quantity) AS quantity FROM movements GROUP BY tx, sku, effect
), returned AS (
  SELECT order_id, sku, sum(quantity) AS quantity FROM order_returns GROUP BY order_id, sku
), changed AS (
  SELECT e.tx, e.order_id,
         CASE WHEN from_status = to_status THEN NULL
              WHEN to_status = 'closed' THEN 'release' WHEN to_status = 'paid' THEN 'sell'
              WHEN to_status = 'canceled' THEN 'restock' END AS effect
    FROM order_events e
   WHERE e.tx >= :since_tx::xid8 AND e.tx IN (SELECT tx FROM moved)
), owed AS (
  SELECT tx, sku, effect, sum(quantity) AS quantity
    FROM (SELECT c.tx, i.sku, c.effect,
                 i.quantity - CASE c.effect WHEN 'restock' THEN coalesce(r.quantity, 0) ELSE 0 END
                   AS quantity
            FROM changed c JOIN order_items i USING (order_id)
            LEFT JOIN returned r USING (order_id, sku)
           WHERE c.effect IS NOT NULL
          UNION ALL
          SELECT m.tx, m.sku, 'restock', r.quantity
            FROM order_returns r JOIN movements m ON m.id = r.movement_id AND m.sku = r.sku) AS lines
   GROUP BY tx, sku, effect HAVING sum(quantity) > 0
)
SELECT (SELECT count(*) FROM moved FULL JOIN owed USING (tx, sku, effect)
         WHERE moved.quantity IS DISTINCT FROM owed.quantity)
     + (SELECT count(*) FROM returned r LEFT JOIN order_items i USING (order_id, sku)
         WHERE r.quantity > coalesce(i.quantity, 0)) AS violations;

-- 15. waits_told: Every waiting state is younger than its greatest age, or has an alert
-- Alerts are given each minute, and written down with it: three minutes are two of them in vain.
WITH disputes AS (
  SELECT m.payment_id, m.at FROM money_movements m
   WHERE m.kind = 'disputed' AND NOT EXISTS (
           SELECT 1 FROM money_movements e WHERE e.payment_id = m.payment_id AND e.ref = m.ref
              AND e.kind IN ('dispute_won', 'dispute_lost'))
), waits AS (
  SELECT 'closing' AS what, o.id AS subject_id, e.at + interval '5 minutes' AS until
    FROM (SELECT subject_id FROM deadlines WHERE kind = 'closing'
          UNION SELECT subject_id FROM held_deadlines WHERE kind = 'closing') AS d
    JOIN orders o ON o.id = d.subject_id AND o.status = 'closing'
    JOIN order_events e ON e.order_id = o.id AND e.version = o.version
  UNION ALL
  SELECT 'payment_unended', o.id, coalesce(o.paid_at, o.closed_at) + interval '5 minutes'
    FROM (SELECT subject_id FROM deadlines WHERE kind = 'closing'
          UNION SELECT subject_id FROM held_deadlines WHERE kind = 'closing') AS d
    JOIN orders o ON o.id = d.subject_id AND o.status NOT IN ('pending_payment', 'closing')
     AND EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.status = 'open')
  UNION ALL
  -- On hold by its movements; 13 compares them with the payment.
  SELECT 'payment_on_hold', p.id, h.at FROM payments p
    JOIN money_movements h ON h.payment_id = p.id AND h.kind = 'held'
   WHERE p.hold_reason IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM money_movements e WHERE e.payment_id = p.id AND e.kind = 'released'
              AND e.ref = h.ref)
  UNION ALL
  SELECT 'webhook_held', id, received_at FROM webhook_events WHERE status = 'held'
  UNION ALL
  -- A host's subject that was armed again has another id, and what was held of it is not any more.
  SELECT 'deadline_held', subject_id, held_at FROM held_deadlines h
   WHERE EXISTS (SELECT 1 FROM timeout_subjects s WHERE s.id = h.subject_id)
      OR EXISTS (SELECT 1 FROM orders o WHERE o.id = h.subject_id)
      OR EXISTS (SELECT 1 FROM refunds r WHERE r.id = h.subject_id)
      OR EXISTS (SELECT 1 FROM webhook_events w WHERE w.id = h.subject_id)
  UNION ALL
  SELECT 'refund_unsent', r.id, greatest(r.updated_at, (
           SELECT max(m.at) FROM money_movements m WHERE m.payment_id = r.payment_id
              AND m.kind IN ('dispute_won', 'dispute_lost'))) + interval '5 minutes'
    FROM refunds r
   WHERE r.status = 'requested' AND r.payment_id NOT IN (SELECT payment_id FROM disputes)
  UNION ALL
  SELECT 'refund_pending', id, updated_at + interval '7 days' FROM refunds
   WHERE status IN ('pending', 'failed')
  UNION ALL
  SELECT 'refund_in_attention', id, updated_at FROM refunds WHERE status = 'needs_attention'
  UNION ALL
  SELECT 'dispute', payment_id, at FROM disputes
  UNION ALL
  SELECT 'webhook_endpoint_off', id, status_at FROM webhook_endpoints WHERE status = 'off'
  UNION ALL
  SELECT 'delivery_dead', e.id, d.settled_at FROM webhook_endpoints e,
         LATERAL (SELECT settled_at FROM webhook_deliveries d
                   WHERE d.endpoint_id = e.id AND d.status = 'dead'
                   ORDER BY settled_at LIMIT 1) AS d
   WHERE e.status <> 'deleted'
)
SELECT count(*) AS violations FROM waits w
 WHERE until < now() - interval '3 minutes' AND NOT EXISTS (
         SELECT 1 FROM waits_told t WHERE t.what = w.what AND t.subject_id = w.subject_id);
