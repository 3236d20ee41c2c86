const movementOf = (captured: string, ref: string) =>
  `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
   SELECT order_id, id, 'captured', '${ref}', captured_amount, currency, 'webhook'
     FROM ${captured}`;

/** What an order was paid with, in SQL, and its movement. */
const paidInFull = (amount: string) => [
  `UPDATE payments SET status = 'succeeded', captured_amount = ${amount},
          captured_currency = currency WHERE order_id = $ORDER`,
  movementOf('payments WHERE order_id = $ORDER', 'p1'),
  `UPDATE orders SET status = 'paid', paid_at = now() WHERE id = $ORDER`,
];

/** Its payment alone, as it is before refunds. */
const CAPTURED = `UPDATE payments SET status = 'succeeded', captured_amount = 500, captured_currency = 'EUR'
    WHERE order_id = $ORDER`;

const anotherPayment = (amount: string) =>
  `WITH paid AS (
     INSERT INTO payments (id, order_id, provider, provider_payment_id, amount, currency, status,
                           captured_amount, captured_currency, expires_at)
     SELECT gen_random_uuid(), id, 'sandbox', 'another', amount, currency, 'succeeded', ${amount},
            currency, closes_at FROM orders WHERE id = $ORDER RETURNING *)
   ${movementOf('paid', 'p2')}`;

/** What an operator has decided to count as taken, of each payment that was; the money itself stays as it is. */
const corrected = (amount: string) => [
  `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
   SELECT order_id, id, kind, 'c1', ${amount}, currency, 'operator'
     FROM payments, unnest('{capture_withdrawn,captured}'::text[]) AS kind
    WHERE order_id = $ORDER AND status = 'succeeded'`,
  `INSERT INTO operator_actions (action, subject_kind, subject_id, actor, reason)
   SELECT 'payment.correct', 'payment', id, 'olga', 'case 9' FROM payments
    WHERE order_id = $ORDER AND status = 'succeeded'`,
];

/** Ways to break each invariant of `$ORDER` by hand; constraints that would forbid it are dropped first. */
export const VIOLATIONS: Record<number, readonly (readonly [what: string, ...sql: string[]])[]> = {
  1: [
    ['a deadline nobody takes', `UPDATE deadlines SET due_at = now() - interval '2 hours'`],
    [
      'an order overdue whose deadline is put back again and again',
      `UPDATE orders SET closes_at = now() - interval '2 hours' WHERE id = $ORDER`,
      `UPDATE deadlines SET due_at = now() + interval '1 second' WHERE subject_id = $ORDER`,
    ],
  ],
  2: [
    [
      'a timeout that closed too early',
      `UPDATE orders SET status = 'closed', closed_at = now(), close_reason = 'payment_timeout',
              version = 2 WHERE id = $ORDER`,
      `INSERT INTO order_events (order_id, version, type, from_status, to_status, by)
       VALUES ($ORDER, 2, 'order.closed', 'pending_payment', 'closed', 'timer')`,
    ],
  ],
  3: [
    ['a pending order that was paid', `UPDATE orders SET paid_at = now() WHERE id = $ORDER`],
    [
      'an order both paid and closed',
      `UPDATE orders SET status = 'closed', paid_at = now(), closed_at = now(),
              close_reason = 'payment_timeout' WHERE id = $ORDER`,
    ],
    ...['paid', 'closing', 'closed', 'shipped', 'completed', 'canceled'].map(
      (status) =>
        [
          `an order that is ${status} without its instant, or why`,
          `UPDATE orders SET status = '${status}' WHERE id = $ORDER`,
        ] as const,
    ),
  ],
  4: [
    ['a status without its history', `UPDATE orders SET version = 2 WHERE id = $ORDER`],
    [
      'two exits from one visit',
      ...[2, 3].map(
        (version) => `
        INSERT INTO order_events (order_id, version, type, from_status, to_status, by)
        VALUES ($ORDER, ${version}, 'order.closed', 'pending_payment', 'closed', 'timer')`,
      ),
      `UPDATE orders SET status = 'closed', version = 3 WHERE id = $ORDER`,
    ],
    ['an order without history', `DELETE FROM order_events WHERE order_id = $ORDER`],
    [
      'a change that the lifecycle does not know',
      `INSERT INTO order_events (order_id, version, type, from_status, to_status, by)
       VALUES ($ORDER, 2, 'order.shipped', 'pending_payment', 'shipped', 'merchant')`,
      `UPDATE orders SET status = 'shipped', version = 2 WHERE id = $ORDER`,
    ],
  ],
  5: [
    [
      'money for an order that is not paid',
      `UPDATE payments SET status = 'succeeded', captured_amount = amount,
              captured_currency = currency WHERE order_id = $ORDER`,
      `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
       SELECT order_id, id, 'captured', 'p1', amount, currency, 'webhook' FROM payments
        WHERE order_id = $ORDER`,
    ],
    [
      'a paid order without money',
      `UPDATE orders SET status = 'paid', paid_at = now() WHERE id = $ORDER`,
    ],
    ['an order that was paid by two payments', ...paidInFull('amount - 1'), anotherPayment('1')],
    [
      'money that goes back no more beside what an order was paid with',
      ...paidInFull('amount'),
      anotherPayment('1'),
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, status)
       SELECT gen_random_uuid(), id, 'late_payment', 1, currency, 'canceled' FROM payments
        WHERE provider_payment_id = 'another'`,
    ],
    [
      'another amount than an operator has corrected its money to',
      ...paidInFull('amount - 1'),
      ...corrected('amount - 2'),
    ],
    [
      'a paid order without money, beside which an operator has corrected other money',
      `UPDATE orders SET status = 'paid', paid_at = now() WHERE id = $ORDER`,
      anotherPayment('2'),
      ...corrected('2'),
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, status)
       SELECT gen_random_uuid(), id, 'duplicate_payment', 2, currency, 'succeeded' FROM payments
        WHERE provider_payment_id = 'another'`,
      `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
       SELECT order_id, id, kind, 'r1', 2, currency, 'answer'
         FROM payments, unnest('{refund_requested,refund_succeeded}'::text[]) AS kind
        WHERE provider_payment_id = 'another'`,
    ],
    [
      'money that was recorded without its amount',
      `UPDATE payments SET status = 'succeeded', hold_reason = 'late_payment'
        WHERE order_id = $ORDER`,
    ],
  ],
  6: [
    [
      'a refund of more than was captured',
      CAPTURED,
      `INSERT INTO refunds (id, payment_id, reason, amount, currency)
       SELECT gen_random_uuid(), id, 'late_payment', 501, 'EUR' FROM payments
        WHERE order_id = $ORDER`,
    ],
    [
      'a refund in another currency',
      CAPTURED,
      `INSERT INTO refunds (id, payment_id, reason, amount, currency)
       SELECT gen_random_uuid(), id, 'late_payment', 1, 'USD' FROM payments
        WHERE order_id = $ORDER`,
    ],
    [
      'two live refunds for one reason',
      'DROP INDEX refunds_one_a_reason',
      CAPTURED,
      `INSERT INTO refunds (id, payment_id, reason, amount, currency)
       SELECT gen_random_uuid(), id, 'late_payment', 100, 'EUR' FROM payments, generate_series(1, 2)
        WHERE order_id = $ORDER`,
    ],
  ],
  7: [
    [
      'stock released without an order',
      `UPDATE products SET reserved = reserved - 1, available = available + 1`,
    ],
    ['stock sold without an order', `UPDATE products SET available = available - 1, sold = 1`],
    [
      'stock from nowhere',
      'ALTER TABLE products DROP CONSTRAINT stock_adds_up',
      'UPDATE products SET available = available + 1',
    ],
    [
      'a release that waits to be folded and that no order made',
      `INSERT INTO unfolded_stock_movements (sku, effect, quantity) VALUES ('TEA', 'release', 1)`,
    ],
  ],
  8: [
    [
      'a stored webhook that nothing will ever apply',
      `INSERT INTO webhook_events (id, provider, event_id, notice)
       VALUES (gen_random_uuid(), 'sandbox', 'e1', '{"type": "ignored"}')`,
    ],
    [
      'a webhook held without a reason',
      `INSERT INTO webhook_events (id, provider, event_id, notice, status)
       VALUES (gen_random_uuid(), 'sandbox', 'e1', '{"type": "ignored"}', 'held')`,
    ],
    [
      'a capture said to be processed that is not in the books',
      `INSERT INTO webhook_events (id, provider, event_id, notice, status, result, processed_at)
       SELECT gen_random_uuid(), 'sandbox', 'e1',
              json_build_object('type', 'payment.succeeded', 'paymentId', id), 'processed', 'paid',
              now() FROM payments WHERE order_id = $ORDER`,
    ],
  ],
  9: [
    ['a pending order without its deadline', `DELETE FROM deadlines WHERE subject_id = $ORDER`],
    [
      'an extended order with its old deadline only',
      `UPDATE orders SET closes_at = closes_at + interval '1 minute' WHERE id = $ORDER`,
    ],
    [
      'a refund under way that nobody asks after',
      `INSERT INTO refunds (id, payment_id, reason, amount, currency)
       SELECT gen_random_uuid(), id, 'late_payment', 1, 'EUR' FROM payments
        WHERE order_id = $ORDER`,
    ],
  ],
  10: [
    [
      'one key with two orders',
      'ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey',
      `UPDATE idempotency_keys SET key = 'same'`,
    ],
    [
      'one order with two keys',
      `INSERT INTO idempotency_keys (customer_id, key, body_hash, order_id)
       SELECT customer_id, 'another', body_hash, order_id FROM idempotency_keys
        WHERE order_id = $ORDER`,
    ],
    [
      'a key whose order was never written',
      `INSERT INTO idempotency_keys (customer_id, key, body_hash, order_id)
       VALUES ('ann', 'another', '', gen_random_uuid())`,
    ],
    [
      'one webhook stored twice',
      'ALTER TABLE webhook_events DROP CONSTRAINT webhook_events_provider_event_id_key',
      `INSERT INTO webhook_events (id, provider, event_id, notice, status, result, processed_at)
       SELECT gen_random_uuid(), 'sandbox', 'e1', '{"type": "ignored"}', 'processed', 'ignored',
              now() FROM generate_series(1, 2)`,
    ],
    [
      'one provider payment for two of ours',
      'ALTER TABLE payments DROP CONSTRAINT payments_provider_provider_payment_id_key',
      `UPDATE payments SET provider_payment_id = 'pay-1'`,
    ],
  ],
  11: [
    ...[
      ['an operator without a reason', `'olga'`, `' '`] as const,
      ['an operator without a name', `' '`, `'asked for it'`] as const,
    ].map(
      ([what, actor, reason]) =>
        [
          what,
          'ALTER TABLE order_events DROP CONSTRAINT operators_give_reasons',
          `UPDATE order_events SET by = 'operator', actor = ${actor}, reason = ${reason}
            WHERE order_id = $ORDER`,
        ] as const,
    ),
  ],
  12: [
    [
      'an event that waits for the relay for too long',
      `UPDATE order_events SET at = now() - interval '2 hours' WHERE order_id = $ORDER`,
    ],
    [
      'versions that were given out of order',
      `UPDATE order_events SET version = 2 WHERE order_id = $ORDER`,
      `INSERT INTO order_events (order_id, version, type, to_status, by)
       VALUES ($ORDER, 1, 'order.placed', 'pending_payment', 'customer')`,
    ],
    [
      'an event whose number is lower than that of the one before it',
      `UPDATE order_events SET version = 3 WHERE order_id = $ORDER`,
      `INSERT INTO order_events (order_id, version, type, to_status, by, tx)
       SELECT order_id, 2, 'order.placed', 'pending_payment', 'customer', tx FROM order_events
        WHERE order_id = $ORDER`,
    ],
    ['a relay that has lost its place', 'DELETE FROM relay_cursor'],
    [
      'an event that would be relayed before the one that it follows',
      `INSERT INTO order_events (order_id, version, type, from_status, to_status, by, tx)
       VALUES ($ORDER, 2, 'order.paid', 'pending_payment', 'paid', 'provider', '1')`,
    ],
  ],
  13: [
    [
      'a capture that no movement tells of',
      `UPDATE payments SET status = 'succeeded', captured_amount = amount,
              captured_currency = currency WHERE order_id = $ORDER`,
    ],
    [
      'a movement of a refund that there is not',
      `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
       SELECT order_id, id, 'refund_succeeded', 'r1', 1, 'EUR', 'webhook' FROM payments
        WHERE order_id = $ORDER`,
    ],
    [
      'a hold without its movement',
      `UPDATE payments SET hold_reason = 'late_payment' WHERE order_id = $ORDER`,
    ],
    [
      'a dispute that was won and never opened',
      `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
       SELECT order_id, id, 'dispute_won', 'd1', 1, 'EUR', 'webhook' FROM payments
        WHERE order_id = $ORDER`,
    ],
    [
      'a payment that its order does not know of',
      `UPDATE orders SET has_payments = false WHERE id = $ORDER`,
    ],
    [
      'an order shipped without its money',
      `UPDATE orders SET status = 'shipped', paid_at = now(), shipped_at = now()
        WHERE id = $ORDER`,
    ],
  ],
  14: [
    [
      'a movement of no order',
      `INSERT INTO stock_movements (tx, id, sku, effect, quantity, at)
       VALUES (pg_current_xact_id(), 1, 'TEA', 'release', 1, now())`,
    ],
    [
      'a movement of more than the order that made it',
      `UPDATE orders SET status = 'closed', closed_at = now(), close_reason = 'customer_canceled',
              version = 2 WHERE id = $ORDER`,
      `INSERT INTO order_events (order_id, version, type, from_status, to_status, by)
       VALUES ($ORDER, 2, 'order.closed', 'pending_payment', 'closed', 'customer')`,
      `INSERT INTO unfolded_stock_movements (sku, effect, quantity) VALUES ('TEA', 'release', 2)`,
    ],
    [
      'more that came back than was bought',
      `INSERT INTO stock_movements (tx, id, sku, effect, quantity, at)
       VALUES (pg_current_xact_id(), 1, 'TEA', 'restock', 1000, now())`,
      `INSERT INTO order_returns (order_id, sku, quantity, movement_id)
       VALUES ($ORDER, 'TEA', 1000, 1)`,
    ],
  ],
  15: [
    [
      'a refund in attention that nobody was told of',
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, updated_at)
       SELECT gen_random_uuid(), id, 'operator', 1, 'EUR', 'needs_attention',
              now() - interval '4 minutes' FROM payments WHERE order_id = $ORDER`,
    ],
    [
      'a dispute that nobody was told of',
      `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source, at)
       SELECT order_id, id, 'disputed', 'd1', 1, 'EUR', 'webhook', now() - interval '4 minutes'
         FROM payments WHERE order_id = $ORDER`,
    ],
    [
      'money on hold that nobody was told of',
      `UPDATE payments SET hold_reason = 'late_payment' WHERE order_id = $ORDER`,
      `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source, at)
       SELECT order_id, id, 'held', 'h1', 1, 'EUR', 'webhook', now() - interval '4 minutes'
         FROM payments WHERE order_id = $ORDER`,
    ],
  ],
};

/** What was sold is compared with all orders there are only. */
export const FOUND_AMONG_ALL = ['stock sold without an order'];
