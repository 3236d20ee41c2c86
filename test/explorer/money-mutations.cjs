// Seeded bugs of money after "paid" that a test of their mechanism has to find; see mutations.cjs.

const ORDERS = 'libs/orders/src/';
const STRIPE = 'test/money/provider-stripe.e2e.ts';
const OPERATIONS = `${ORDERS}ops/money-operations.spec.ts`;
const FOREIGN = `${ORDERS}money/foreign-money.spec.ts`;
const RELAY = `${ORDERS}events/relay-events.spec.ts`;
const RECONCILE = `${ORDERS}reconciling/reconcile.spec.ts`;
const WAITS = `${ORDERS}ops/waits.spec.ts`;
const REFUNDS = `${ORDERS}money/refunds.spec.ts`;
const LEDGER = `${ORDERS}reconciling/reconcile.judgement.spec.ts`;

/**
 * @param {string} name
 * @param {string} what
 * @param {string} spec the test that has to fail
 * @param {string} file within libs/orders/src
 * @param {string} find
 * @param {string} replace
 * @returns {import('./mutations.cjs').Mutation}
 */
const seeded = (name, what, spec, file, find, replace) => ({
  name,
  what,
  spec,
  edits: [{ file: `${ORDERS}${file}`, find, replace }],
});

const MONEY_MUTATIONS = [
  seeded(
    'stock-of-late-writers',
    'An order whose event before was committed under a greater transaction gives nothing back',
    `${ORDERS}order/order-guard.spec.ts`,
    'order/change-status.ts',
    'WHERE c.event_tx <> ${NEW_EVENT_TX}',
    'WHERE false',
  ),
  seeded(
    'relay-sends-for-ever',
    'What a slow stream has taken is noted only when it has taken all there is',
    RELAY,
    'events/relay-events.ts',
    '(count === 0 || performance.now() < untilMs)',
    'untilMs > 0',
  ),
  seeded(
    'backlog-in-one-window',
    'All that waits for the stream is one window, which every batch of it reads and sorts',
    RELAY,
    'events/relay-events.ts',
    'currentWindow(tx, cursor as Window, WINDOW - 1)',
    'currentWindow(tx, cursor as Window, 1_000 * WINDOW)',
  ),
  seeded(
    'two-indexes-to-fold-by',
    'Postgres may fold by another index than that of the product, as its statistics have it',
    `${ORDERS}stock/fold-stock.spec.ts`,
    'migrations/1763980000000-fold-by-sku.ts',
    'ON unfolded_stock_movements (sku, (id + 0))',
    'ON unfolded_stock_movements (sku, id)',
  ),
  seeded(
    'asked-at-the-first-provider',
    "A payment's end is asked at the provider for new ones, and not at its own",
    `${ORDERS}providers/payment-providers.spec.ts`,
    'providers/payment-providers.ts',
    'return this.find(name) ?? new SwitchedOffProvider(name);',
    'return this.all[0];',
  ),
  seeded(
    'stranded-work-unseen',
    'A provider with open work can be switched off',
    `${ORDERS}providers/payment-providers.spec.ts`,
    'providers/stranded-work.ts',
    'if (found.length === 0) return;',
    'return;',
  ),
  seeded(
    'krona-in-hundredths',
    'ISK is charged a hundredth, as if Stripe counted it without decimals',
    STRIPE,
    'providers/stripe/stripe-currency.ts',
    '{ ISK: 2, UGX: 2, MGA: 0 }',
    '{ UGX: 2, MGA: 0 }',
  ),
  seeded(
    'too-little-is-sent',
    "An amount below the currency's minimum is sent to Stripe",
    STRIPE,
    'providers/stripe/stripe-currency.ts',
    'if (units < minimum && !isRefund) {',
    'if (units < 0 && !isRefund) {',
  ),
  seeded(
    'webhook-age-by-own-clock',
    "A machine whose clock is wrong judges a webhook's age by it",
    `${ORDERS}payments/receive-webhook.spec.ts`,
    'payments/receive-webhook.ts',
    'const now = new Date(this.#clock.nowMs());',
    'const now = new Date();',
  ),
  seeded(
    'repeated-create-kept',
    'A session that only the repeated call has made stays open',
    STRIPE,
    'providers/stripe/stripe.provider.ts',
    'if (!isReplayed) return this.#expire(answer.providerPaymentId);',
    '',
  ),
  seeded(
    'ledger-by-creation',
    "Stripe's ledger has what was made since, and not what has changed",
    STRIPE,
    'providers/stripe/stripe-ledger.ts',
    "const LISTS = ['sessions', 'refunds', 'disputes', 'events'] as const;",
    "const LISTS = ['sessions', 'refunds', 'disputes'] as const;",
  ),
  seeded(
    'refusal-is-silence',
    'A provider that refuses is taken for one that does not answer',
    `${ORDERS}providers/guarded.provider.spec.ts`,
    'providers/guarded.provider.ts',
    "if (state === 'UNKNOWN' || state === 'NOT_MADE') throw",
    "if (state === 'UNKNOWN' || state === 'NOT_MADE' || state === 'REFUSED') throw",
  ),
  seeded(
    'refunds-given-up-in-seconds',
    'A refund is tried three times',
    `${ORDERS}money/refund.judgement.spec.ts`,
    'money/refund.judgement.ts',
    'export const MAX_REFUND_ATTEMPTS = PAUSES_AFTER_FAILURE_MS.length + 1;',
    'export const MAX_REFUND_ATTEMPTS = 3;',
  ),
  seeded(
    'refunded-order-stays-paid',
    'An order whose money has gone back is shipped',
    FOREIGN,
    'money/balance.judgement.ts',
    "total(balances, kept) === 0 ? 'cancel' : 'nothing'",
    "total(balances, kept) < 0 ? 'cancel' : 'nothing'",
  ),
  seeded(
    'disputed-order-ships',
    'A dispute does not stop shipping',
    FOREIGN,
    'money/balance.judgement.ts',
    "if (total(balances, ({ inDispute }) => inDispute) > 0) return 'disputed';",
    '',
  ),
  seeded(
    'disputed-order-completed',
    'A dispute does not stop the receipt that comes by itself',
    FOREIGN,
    'fulfilment/receipt.deadline.ts',
    "OR ${isInDispute('p.id')})",
    ')',
  ),
  seeded(
    'canceled-with-money-on-hold',
    'An order whose money is on hold is canceled by its deadline, and refunds nothing',
    FOREIGN,
    'fulfilment/shipment.deadline.ts',
    'p.hold_reason IS NOT NULL OR ',
    '',
  ),
  seeded(
    'settled-webhook-stays-held',
    'Money that is settled leaves its webhook held',
    FOREIGN,
    'ops/held-payments.ts',
    'await endWebhooks(tx, payment);',
    '',
  ),
  seeded(
    'settled-money-held-again',
    'A claim that is told again puts settled money back on hold',
    FOREIGN,
    'money/captured-money.ts',
    'if (!fresh.has(one) || one.row.hold_reason !== null) continue;',
    'if (one.row.hold_reason !== null) continue;',
  ),
  seeded(
    'refund-beyond-balance',
    'An operator may send back more than the order holds',
    OPERATIONS,
    'ops/create-refund.ts',
    'if (rest > 0) throw exceeds(amount, balances);',
    '',
  ),
  seeded(
    'restocked-beyond-order',
    'More is put back than was bought',
    OPERATIONS,
    'stock/restock.ts',
    'if (quantity > most) throw exceeds(sku, quantity, most);',
    '',
  ),
  seeded(
    'restocked-twice',
    'A canceled order puts back what had come back before',
    OPERATIONS,
    'order/change-status.ts',
    'i.quantity - coalesce((SELECT sum(r.quantity) FROM order_returns r',
    'i.quantity - 0 * coalesce((SELECT sum(r.quantity) FROM order_returns r',
  ),
  seeded(
    'accepted-without-stock',
    'Late money reopens an order whose stock is gone',
    OPERATIONS,
    'ops/held-payments.ts',
    'const missing = await reserveAgain(tx, stock, orderId, this.guard);',
    'const missing = undefined as string | undefined;',
  ),
  seeded(
    'relay-of-another-cluster',
    'After a restore the relay waits for transactions that this cluster will not make for long',
    RELAY,
    'events/event-window.ts',
    'SELECT event_tx(pg_snapshot_xmin(pg_current_snapshot())) AS tx)',
    'SELECT pg_snapshot_xmin(pg_current_snapshot()) AS tx)',
  ),
  seeded(
    'silence-not-sent-again',
    'What was written between a restore and its mending is never sent',
    RELAY,
    'migrations/1763930000000-history-reaches.ts',
    'UPDATE order_events SET tx = first_tx\n       WHERE at >= sent_from AND id > sealed_events;',
    '',
  ),
  seeded(
    'reconciled-from-the-start',
    'A comparison that was interrupted begins anew',
    RECONCILE,
    'reconciling/reconcile.ts',
    'await this.#theirs(run, request, provider, isAt ? at.from : null);',
    'await this.#theirs(run, request, provider, null);',
  ),
  seeded(
    'closed-difference-told-again',
    'A difference that an operator has closed is told of every night',
    RECONCILE,
    'reconciling/reconcile-runs.ts',
    "THEN 'closed' ELSE 'open' END",
    "THEN 'open' ELSE 'open' END",
  ),
  seeded(
    'wait-told-every-minute',
    'An alert comes again and again for what waits',
    WAITS,
    'ops/watch-waits.ts',
    'ON CONFLICT DO NOTHING RETURNING what, subject_id)',
    'ON CONFLICT (what, subject_id) DO UPDATE SET told_at = now() RETURNING what, subject_id)',
  ),
  seeded(
    'dispute-waits-unseen',
    'A dispute waits, and nobody is told',
    WAITS,
    'ops/waits.ts',
    "m.kind = 'disputed'",
    "m.kind = 'dispute'",
  ),
  seeded(
    'shipment-warned-again',
    'A paid order is told of every ten minutes before it is refunded',
    WAITS,
    'fulfilment/warn-shipments.ts',
    "e.type = 'order.shipment_due')",
    "e.type = 'order.shipment')",
  ),
  seeded(
    'shipped-before-paid',
    'A change that waited for its order is dated before the one that it waited for',
    `${ORDERS}order/order-guard.spec.ts`,
    'order/change-status.ts',
    "shipped: 'shipped_at = greatest(now(), paid_at)',",
    "shipped: 'shipped_at = now()',",
  ),
  seeded(
    'canceled-refund-revived',
    'A refund that is owed no longer is tried anew when its failure is told of again',
    REFUNDS,
    'money/refund.judgement.ts',
    "if (facts.status === 'canceled') return UNCHANGED;",
    '',
  ),
  seeded(
    'returned-money-once',
    'Of money that came back in parts, the first goes to the customer',
    FOREIGN,
    'money/request-refunds.ts',
    'WHERE b.rest > 0',
    'WHERE b.rest > 0 AND NOT EXISTS (SELECT 1 FROM refunds o WHERE o.payment_id = r.payment_id AND o.reason = r.reason)',
  ),
  seeded(
    'hand-made-for-ours',
    'A refund that somebody makes by hand is taken for ours that is at the provider',
    REFUNDS,
    'payments/apply-notices.ts',
    "status = 'requested' AND asked_at IS NULL)",
    "status = 'requested')",
  ),
  seeded(
    'one-row-two-refunds',
    'One refund of ours stands for two lines of the ledger',
    LEDGER,
    'reconciling/reconcile.judgement.ts',
    'refund.id === refundId && !isNamed(refund)',
    'refund.id === refundId',
  ),
  seeded(
    'asked-refund-canceled',
    'A refund is canceled while the provider is being asked for it',
    REFUNDS,
    'money/cancel-unowed.ts',
    '          AND ${IS_AT_NO_PROVIDER}\n',
    '',
  ),
  seeded(
    'failed-refund-in-a-hurry',
    'A failed refund is tried anew by a deadline of the attempt that failed',
    REFUNDS,
    'money/refund.deadline.ts',
    "date_trunc('milliseconds', updated_at) <= now()",
    "updated_at <= now() + interval '1 day'",
  ),
];

module.exports = { MONEY_MUTATIONS };
