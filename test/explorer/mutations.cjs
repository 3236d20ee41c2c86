// Seeded bugs: each is a few edits of the sources, made while they are loaded by register.cjs, and
// nowhere else. An edit's `find` must stand exactly once in its file.

const { ANSWER_MUTATIONS } = require('./answer-mutations.cjs');
const { CROWD_MUTATIONS } = require('./crowd-mutations.cjs');
const { DESK_MUTATIONS } = require('./desk-mutations.cjs');
const { ENDPOINT_MUTATIONS } = require('./endpoint-mutations.cjs');
const { MONEY_MUTATIONS } = require('./money-mutations.cjs');
const { ALARM_MUTATIONS } = require('./alarm-mutations.cjs');
const { INSTALLATION_MUTATIONS } = require('./installation-mutations.cjs');
const { SPEC_MUTATIONS } = require('./spec-mutations.cjs');
const { TARGET_RACE_MUTATIONS } = require('./target-race-mutations.cjs');
const { TARGET_MUTATIONS } = require('./target-mutations.cjs');

const ORDERS = 'libs/orders/src/';
const TIMEOUT = 'libs/timeout/src/';

/**
 * @typedef {{ file: string, find: string, replace: string }} Edit
 * @typedef {{ name: string, what: string, edits: Edit[], inCrowds?: boolean, atDesk?: boolean, ofTargets?: boolean, withEndpoints?: boolean, spec?: string }} Mutation
 * `inCrowds`: it takes many orders and several workers to find it.
 * `atDesk`: it takes operators at work, or refunds that fail.
 * `ofTargets`: it takes a shop with an orders table of its own.
 * `withEndpoints`: it takes systems of the shop's that hear of events, and fail.
 * `spec`: not the race explorer finds it, but this test.
 */

/** @type {Mutation[]} */
const MUTATIONS = [
  {
    name: 'update-without-condition',
    what: 'The conditional update of the status without its condition',
    edits: [
      { file: `${ORDERS}order/change-status.ts`, find: 'AND status = $2', replace: "AND $2 <> ''" },
    ],
  },
  {
    name: 'products-not-held',
    what: 'Placing looks at what is available without holding the products meanwhile',
    spec: 'test/closing/locked-product.e2e.ts',
    edits: [
      {
        file: `${ORDERS}stock/products.ts`,
        find: 'WHERE sku = ANY ($1::text[]) FOR NO KEY UPDATE SKIP LOCKED`,',
        replace: 'WHERE sku = ANY ($1::text[])`,',
      },
    ],
  },
  {
    name: 'whole-batch-waits-for-a-row',
    what: 'A batch that is handled as a whole does not look whether all of it is to be had',
    spec: 'test/closing/mixed-batch.e2e.ts',
    edits: [
      {
        file: `${ORDERS}closing/payment.deadline.ts`,
        find: 'if (!isLockTimeout(error) && !isCanceledStatement(error)) throw error;',
        replace: 'throw error;',
      },
    ],
  },
  {
    name: 'waits-for-a-row-again',
    what: 'Each batch waits anew for an order whose row somebody holds beside the guard',
    spec: 'test/closing/mixed-batch.e2e.ts',
    edits: [
      {
        file: `${ORDERS}closing/payment.deadline.ts`,
        find: 'void (this.#waitsFromMs = performance.now() + NO_WAITING_FOR_MS);',
        replace: 'undefined;',
      },
    ],
  },
  {
    name: 'limits-of-one-update-stay',
    what: 'What follows in a transaction has the limits of the one update that is to be short',
    spec: 'test/closing/mixed-batch.e2e.ts',
    edits: [
      {
        file: `${ORDERS}closing/payment.deadline.ts`,
        find: 'await part.hot(AS_BEFORE, [before?.row_wait, before?.statement_limit]);',
        replace: '',
      },
    ],
  },
  {
    name: 'counts-on-no-lock',
    what: 'A batch counts on being alone with its orders where there is no lock at all',
    spec: 'test/closing/mixed-batch.e2e.ts',
    edits: [
      {
        file: `${TIMEOUT}draining/lock-batch.ts`,
        find: "held.outcome !== 'degraded' && !lock.excludesNobody",
        replace: "held.outcome !== 'degraded'",
      },
    ],
  },
  {
    name: 'closes-what-is-being-paid',
    what: 'A batch that waits for an order closes it, though a payment of it was begun meanwhile',
    spec: 'test/closing/mixed-batch.e2e.ts',
    edits: [
      {
        file: `${ORDERS}order/change-status.ts`,
        find: "${onlyIfNoPayments ? 'AND NOT has_payments' : ''}",
        replace: "${onlyIfNoPayments ? `AND NOT ${HAS_OPEN_PAYMENT}` : ''}",
      },
    ],
  },
  {
    name: 'payments-untold',
    what: 'A payment is begun and its order does not know of it',
    spec: 'libs/orders/src/payments/orders-know-payments.spec.ts',
    edits: [
      {
        file: `${ORDERS}migrations/1764080001000-payments-tell-orders.ts`,
        find: 'IN (SELECT order_id FROM begun) AND NOT has_payments',
        replace: 'IN (SELECT order_id FROM begun) AND has_payments',
      },
    ],
  },
  {
    name: 'untold-orders-have-none',
    what: 'Workers that run between two migrations take orders for unpaid that were told of nothing yet',
    spec: 'libs/orders/src/payments/orders-know-payments.spec.ts',
    edits: [
      {
        file: `${ORDERS}migrations/1764080000000-orders-have-payments.ts`,
        find: 'boolean NOT NULL DEFAULT true',
        replace: 'boolean NOT NULL DEFAULT false',
      },
    ],
  },
  {
    name: 'held-orders-untold',
    what: 'Orders without a deadline are not told of the payments from before they could know',
    spec: 'libs/orders/src/payments/orders-know-payments.spec.ts',
    edits: [
      {
        file: `${ORDERS}migrations/1764080002000-unpaid-orders-have-payments.ts`,
        find: 'AND id IN (SELECT order_id FROM payments)',
        replace:
          'AND id IN (SELECT order_id FROM payments) AND id IN (SELECT subject_id FROM deadlines)',
      },
    ],
  },
  {
    name: 'claims-sort-what-is-due',
    what: 'A claim may find what is due by a bitmap, and sort all of it for each batch',
    spec: 'libs/orders/src/closing/claim-plans.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/database/pool-options.ts',
        find: "const CLAIMING = { enable_bitmapscan: 'off' }",
        replace: "const CLAIMING = { enable_bitmapscan: 'on' }",
      },
    ],
  },
  {
    name: 'address-takes-our-settings',
    what: 'An address with options of its own takes the schema, the isolation and the limits of our connections',
    spec: 'libs/orders/src/data-source.spec.ts',
    edits: [
      {
        file: `${ORDERS}data-source.ts`,
        find: "const { url, options: said = '' } = sessionAddress(address);",
        replace: "const { url, said } = { url: address, said: '' };",
      },
    ],
  },
  {
    name: 'values-as-the-database-likes',
    what: 'An address says how dates and bytes are written, which nobody here can read then',
    spec: 'libs/orders/src/data-source.spec.ts',
    edits: [
      {
        file: `${ORDERS}data-source.ts`,
        find: '${startUpOptions(settings)} ${said} ${startUpOptions(UNDERSTOOD)}',
        replace: '${startUpOptions(settings)} ${said}',
      },
    ],
  },
  {
    name: 'migrating-ends-by-limits',
    what: 'Who waits for a turn to migrate is ended by the limit that statements have there',
    spec: 'libs/orders/src/migrate.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/database/migration-turn.ts',
        find: 'await turn.query(lifting());',
        replace: '',
      },
    ],
  },
  {
    name: 'relay-taken-for-a-customer',
    what: 'A burst leaves a core to the relay, as if a customer were waiting',
    spec: 'libs/orders/src/api-wait.spec.ts',
    edits: [
      {
        file: `${ORDERS}events/relay-events.ts`,
        find: '@Inject(BACKGROUND)',
        replace: "@Inject(require('../data-source').DATABASE)",
      },
    ],
  },
  {
    name: 'table-blamed-on-its-subjects',
    what: 'A table that somebody has locked is blamed on the orders that were tried, one by one',
    spec: 'libs/timeout/src/draining/drain-held-rows.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/draining/handle-apart.ts',
        find: 'if (isForAll) throw new TableLockedError(error);',
        replace: '',
      },
    ],
  },
  {
    name: 'row-taken-for-a-table',
    what: 'A row that somebody holds is taken for a lock on its table',
    spec: 'libs/timeout/src/draining/drain-held-rows.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/database/database-errors.ts',
        find: "!ROW.test(said.where ?? '') && !ASKS",
        replace: '!ASKS',
      },
    ],
  },
  {
    name: 'advisory-taken-for-a-table',
    what: 'Whoever waits for an advisory lock in vain fails all others, as if a table were locked',
    spec: 'libs/timeout/src/draining/drain-held-rows.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/database/database-errors.ts',
        find: ".test(said.where ?? '') && !ASKS_FOR_ADVISORY.test(sentBefore(error) ?? '')",
        replace: ".test(said.where ?? '')",
      },
    ],
  },
  {
    name: 'customer-of-another-group',
    what: 'What a customer holds is not counted where another group has them',
    spec: 'libs/orders/src/placing/customer-limits.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/placing/customer-limits.ts',
        find: 'return this.#heldElsewhere.has(customerId);',
        replace: 'return !this && this.#heldElsewhere.has(customerId);',
      },
    ],
  },
  {
    name: 'customer-held-by-a-row',
    what: 'A group waits for a row of what limits remember of one customer, which somebody holds',
    spec: 'libs/orders/src/placing/customer-limits.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/placing/customer-limits.ts',
        find: '(ARRAY(SELECT tid FROM over)) FOR UPDATE SKIP LOCKED',
        replace: '(ARRAY(SELECT tid FROM over)) FOR UPDATE',
      },
    ],
  },
  {
    name: 'alarms-by-place-alone',
    what: 'The postgres timer takes alarms by their place alone, which is unique in one partition only',
    spec: 'libs/timeout/src/drivers/postgres/alarm-table.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/drivers/postgres/alarm-table.ts',
        find: 'AND CASE WHEN queue IS NOT NULL THEN queue = $1 AND id IN (SELECT id FROM picked) END',
        replace: '',
      },
    ],
  },
  {
    name: 'waits-behind-a-locked-table',
    what: 'Who places an order behind a group that has met a locked table waits as long once more',
    spec: 'libs/orders/src/group-commit.spec.ts',
    edits: [
      {
        file: `${ORDERS}group-commit.ts`,
        find: 'if (this.options.isForAllWaiting?.(error) && !areOld) {',
        replace: 'if (false as boolean) {',
      },
    ],
  },
  {
    name: 'webhooks-wait-for-tables',
    what: 'Webhooks wait for a locked table to be applied, and are not stored',
    spec: 'test/closing/locked-table.long.ts',
    edits: [
      {
        file: `${ORDERS}payments/receive-webhook.ts`,
        find: 'if (isTableLocked(error) || stoodStill) {',
        replace: 'if (isTableLocked(error)) throw error;\n      if (stoodStill) {',
      },
    ],
  },
  {
    name: 'webhooks-wait-twice',
    what: 'A webhook that cannot be stored waits for its inbox once more after it has waited to be applied',
    spec: 'test/closing/locked-table.long.ts',
    edits: [
      {
        file: `${ORDERS}payments/receive-webhook.ts`,
        find: 'if (haveWaited) await waitNoMore(tx);',
        replace: '',
      },
    ],
  },
  {
    name: 'webhooks-stored-for-long',
    what: 'A webhook that cannot be stored is tried five times behind its wait, however long each takes',
    spec: 'test/closing/locked-table.long.ts',
    edits: [
      {
        file: `${ORDERS}payments/receive-webhook.ts`,
        find: '{ patienceMs: STORE_FOR_MS }',
        replace: '{}',
      },
    ],
  },
  {
    name: 'slow-kinds-take-all-connections',
    what: 'Each slow kind takes all the drainers it may have, until no connection is left',
    spec: 'libs/timeout/src/draining/further-drainers.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/draining/drain.ts',
        find: 'if (place > 0 && !further.take()) return;',
        replace: '',
      },
    ],
  },
  {
    name: 'held-orders-at-once-again',
    what: 'Overdue orders that somebody holds are claimed and put back every 50 ms, all of them at once',
    spec: 'libs/orders/src/closing/held-orders.spec.ts',
    edits: [
      {
        file: `${ORDERS}closing/payment.deadline.ts`,
        find: 'mostMs * (0.5 + Math.random() / 2)',
        replace: 'Math.min(50, mostMs)',
      },
    ],
  },
  {
    name: 'ring-for-no-instant',
    what: 'A ring whose instant its store has lost spoils from where claims look, for good',
    spec: 'libs/timeout/src/independence.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/timeout.service.ts',
        find: 'at.getTime() || EVERYTHING_MS',
        replace: 'at.getTime()',
      },
    ],
  },
  {
    name: 'folding-outlasts-its-end',
    what: 'A process that is told to end folds all stock movements that wait',
    spec: 'libs/orders/src/stock/fold-stock.spec.ts',
    edits: [
      {
        file: `${ORDERS}stock/fold-stock.ts`,
        find: 'if (isOver || stops()) return',
        replace: 'if (isOver) return',
      },
    ],
  },
  {
    name: 'folding-by-place-alone',
    what: 'Folding deletes movements by their place, which is one of each partition',
    spec: 'libs/orders/src/stock/fold-stock.spec.ts',
    edits: [
      {
        file: `${ORDERS}migrations/1764030000000-fold-by-place-and-id.ts`,
        find: 'THEN u.id IN (SELECT unnest(ids) FROM changed) END',
        replace: 'THEN true END',
      },
    ],
  },
  {
    name: 'keys-are-joined',
    what: 'Placing looks idempotency keys up by a join, which may read all there are',
    spec: 'libs/orders/src/placing/find-keys.spec.ts',
    edits: [
      {
        file: `${ORDERS}placing/place-group.ts`,
        find: 'WHERE customer_id = r.customer_id AND key = r.key OFFSET 0)',
        replace: 'WHERE customer_id = r.customer_id AND key = r.key)',
      },
    ],
  },
  {
    name: 'history-reaches-beyond-the-snapshot',
    what: 'How far the history reaches is read later than what it is compared with',
    spec: 'libs/orders/src/events/history-reaches.spec.ts',
    edits: [
      {
        file: `${ORDERS}migrations/1763990000000-history-reaches-by-snapshot.ts`,
        find: 'ALTER FUNCTION history_reaches() STABLE',
        replace: 'SELECT 1',
      },
    ],
  },
  {
    name: 'held-stock-forgets-notice',
    what: 'A late payment whose product somebody holds is acknowledged and never decided about',
    spec: 'test/closing/locked-product.e2e.ts',
    edits: [
      {
        file: `${ORDERS}payments/receive-webhook.ts`,
        find: "if (status === 'received') later.push(webhookId);",
        replace: '',
      },
    ],
  },
  {
    name: 'held-order-holds-up-money',
    what: 'Webhooks of others wait for the row of an order that somebody holds',
    spec: 'test/closing/locked-product.e2e.ts',
    edits: [
      {
        file: `${ORDERS}money/judged-captures.ts`,
        find: 'FOR NO KEY UPDATE SKIP LOCKED) AS o`;',
        replace: 'FOR NO KEY UPDATE) AS o`;',
      },
    ],
  },
  {
    name: 'host-locks-hold-up-groups',
    what: 'What a hook or the stock of the host waits for, all orders of its group wait for',
    spec: 'libs/orders/src/order/held-in-host.long.ts',
    edits: [
      {
        file: `${ORDERS}order/order-hooks.ts`,
        find: 'tx.isShared ? `${SHARED_LOCK_LIMIT_MS}ms` : undefined',
        replace: 'undefined',
      },
    ],
  },
  {
    name: 'held-fails-groups-again',
    what: 'What has failed a group goes into the next one with others again',
    spec: 'libs/orders/src/group-commit-needs.spec.ts',
    edits: [
      {
        file: `${ORDERS}held-needs.ts`,
        find: 'if (failsGroups) this.#suspected.set',
        replace: 'if (failsGroups && needs.length > 9) this.#suspected.set',
      },
    ],
  },
  {
    name: 'products-without-a-queue',
    what: 'Who finds a product held again and again goes on to look now and then, and others have it each time',
    spec: 'libs/orders/src/placing/products-in-turn.spec.ts',
    edits: [
      {
        file: `${ORDERS}placing/place-order.ts`,
        find: 'waitsFor !== undefined && !(await waitInTurn(tx, waitsFor))',
        replace: 'false',
      },
    ],
  },
  {
    name: 'waits-in-vain-again',
    what: 'Who has waited in vain for what somebody keeps waits again at once, and a lane is gone for strangers',
    spec: 'libs/orders/src/group-commit-needs.spec.ts',
    edits: [
      {
        file: `${ORDERS}group-commit-contention.ts`,
        find: 'performance.now() + WAITS_AGAIN_AFTER_MS',
        replace: 'performance.now()',
      },
    ],
  },
  {
    name: 'waits-and-keeps-the-rest',
    what: 'Who waits for one product keeps those who need another of theirs waiting as well',
    spec: 'libs/orders/src/group-commit-needs.spec.ts',
    edits: [
      {
        file: `${ORDERS}group-commit.ts`,
        find: 'const needs = waits ? [] : all',
        replace: 'const needs = all',
      },
    ],
  },
  {
    name: 'nobody-stands-aside',
    what: "Groups of several processes pass over each other's products for good, and refuse who wants many of them",
    spec: 'libs/orders/src/group-commit-needs.spec.ts',
    edits: [
      {
        file: `${ORDERS}group-commit-contention.ts`,
        find: 'if (presses) this.#excludesUntilMs',
        replace: 'if (presses && contender.tries > 99) this.#excludesUntilMs',
      },
    ],
  },
  {
    name: 'asks-alone-and-goes-beside',
    what: 'A group that asks all others to stand aside has no turn of its own',
    spec: 'libs/orders/src/placing/placing-turns.spec.ts',
    edits: [
      {
        file: `${ORDERS}placing/placing-turns.ts`,
        find: "part.hot(wanted === 'alone' ? WAIT_ALONE : WAIT_BESIDE",
        replace: 'part.hot(WAIT_BESIDE',
      },
    ],
  },
  {
    name: 'stands-aside-for-what-is-kept',
    what: 'All groups of all processes stand aside again and again for a product that a merchant holds',
    spec: 'libs/orders/src/group-commit-needs.spec.ts',
    edits: [
      {
        file: `${ORDERS}group-commit-contention.ts`,
        find: 'this.#excludesUntilMs = -Infinity;\n    }',
        replace: '}',
      },
    ],
  },
  {
    name: 'long-windows-among-the-near',
    what: 'The deadline of an order is where rings and sweeps look, however long its window',
    spec: 'libs/orders/src/placing/place-order.spec.ts',
    edits: [
      {
        file: `${ORDERS}placing/write-orders.ts`,
        find: '1, ${isFar(DEADLINES.payment.dueAt)} FROM drafts',
        replace: '1, false FROM drafts',
      },
    ],
  },
  {
    name: 'acknowledged-before-stored',
    what: 'A webhook answered with 2xx before it is stored',
    edits: [
      {
        file: `${ORDERS}payments/notice-groups.ts`,
        find: 'await orRefusal(group.submit(',
        replace: 'void orRefusal(group.submit(',
      },
    ],
  },
  {
    name: 'events-by-own-transaction',
    what: "Events relayed by their own transaction's id, which may be older than their predecessor's",
    edits: [
      {
        file: `${ORDERS}order/event-tx.ts`,
        find: '`greatest(event_tx, ${NEW_EVENT_TX})`',
        replace: 'NEW_EVENT_TX',
      },
    ],
  },
  {
    name: 'refund-without-key',
    what: 'A refund asked for with a new idempotency key each time',
    edits: [
      {
        file: `${ORDERS}providers/ask-refund.ts`,
        find: 'idempotencyKey: refundKey(row.id, row.attempt)',
        replace: 'idempotencyKey: refundKey(row.id, row.attempt) + Math.random()',
      },
    ],
  },
  {
    name: 'workers-clock',
    what: "The deadline compared with the worker's clock, which is an hour ahead",
    edits: [
      {
        file: `${ORDERS}closing/read-order.ts`,
        find: 'closesAt <= serverNow',
        replace: 'Date.parse(closesAt) <= Date.now()',
      },
      {
        file: `${ORDERS}order/deadline-table.ts`,
        find: '${deadline.dueAt} <= now()',
        replace: '${deadline.dueAt} <= to_timestamp(${Date.now() / 1000})',
      },
    ],
  },
  {
    name: 'batch-forgets-locked-rows',
    what: 'A batch close that drops orders whose row somebody holds, instead of putting them back',
    edits: [
      {
        file: `${ORDERS}closing/payment.deadline.ts`,
        find: 'changed < subjectIds.count ? await this.#stillPending(tx, batch) : []',
        replace: '[]',
      },
    ],
  },
  {
    name: 'batch-forgets-held-locks',
    what: 'A batch close that drops orders whose lock somebody holds',
    edits: [
      {
        file: `${TIMEOUT}draining/drain-aside.ts`,
        find: '...handled.contended, ...held',
        replace: '...held',
      },
    ],
  },
  {
    name: 'stale-claim-closes-paid',
    what: 'A timeout that trusts its claim: it closes the order whatever became of it meanwhile',
    edits: [
      {
        file: `${ORDERS}order/change-status.ts`,
        find: 'AND status = $2',
        replace: "AND (status = $2 OR $2 = 'pending_payment' AND $5 IN ('timer', 'sweep'))",
      },
      {
        file: `${ORDERS}closing/payment.deadline.ts`,
        find: 'const LOCK_OVERDUE = `SELECT id ${OVERDUE} FOR',
        replace:
          'const LOCK_OVERDUE = `SELECT id FROM orders WHERE id = ANY ($1::uuid[]) AND closes_at <= now() FOR',
      },
    ],
  },
  {
    name: 'closed-behind-the-providers-back',
    what: 'An overdue order closed at once although a payment is open at the provider',
    edits: [
      {
        file: `${ORDERS}closing/payment.deadline.ts`,
        find: 'onlyIfNoPaymentOpen: true',
        replace: 'onlyIfNoPaymentOpen: false',
      },
    ],
  },
  {
    name: 'closed-at-once-whoever-pays',
    what: 'A batch of overdue orders closed at once, those included that somebody began to pay',
    edits: [
      {
        file: `${ORDERS}closing/payment.deadline.ts`,
        find: 'onlyIfNoPayments: true',
        replace: 'onlyIfNoPayments: false',
      },
    ],
  },
  {
    name: 'stock-of-others',
    what: 'Stock moved for every order asked for, not only for those that changed',
    edits: [
      {
        file: `${ORDERS}order/change-status.ts`,
        find: 'WHERE i.order_id = ANY (ARRAY(SELECT id FROM changed WHERE event_tx = ${NEW_EVENT_TX}))',
        replace: 'WHERE i.order_id = ANY ($1::uuid[])',
      },
    ],
  },
  {
    name: 'second-payment-kept',
    what: 'The second payment of a paid order is not given back',
    edits: [
      {
        file: `${ORDERS}money/record-captures.ts`,
        find: 'if (!reason) return [];',
        replace: "if (reason !== 'late_payment') return [];",
      },
    ],
  },
  {
    name: 'failure-beats-money',
    what: 'A late notice of failure undoes a recorded payment',
    edits: [
      {
        file: `${ORDERS}payments/end-payments.ts`,
        find: " AND status = 'open' FOR NO KEY",
        replace: ' FOR NO KEY',
      },
    ],
  },
  {
    name: 'key-lost',
    what: 'Two requests with one idempotency key at two processes both place an order',
    spec: 'libs/orders/src/placing/key-taken.spec.ts',
    edits: [
      {
        file: `${ORDERS}placing/write-orders.ts`,
        find: 'if (written?.keys !== drafts.length) throw new KeyTakenMeanwhileError();',
        replace: '',
      },
    ],
  },
  {
    name: 'no-next-attempt',
    what: 'The provider is asked without the next attempt being armed in the claiming transaction',
    edits: [{ file: `${TIMEOUT}attempts.ts`, find: 'if (!first) return;', replace: 'return;' }],
  },
  {
    name: 'relay-past-open-transactions',
    what: 'The relay reads up to the newest transaction, past those that are still under way',
    edits: [
      {
        file: `${ORDERS}events/event-window.ts`,
        find: 'SELECT event_tx(pg_snapshot_xmin(pg_current_snapshot())) AS tx)',
        replace: 'SELECT event_tx(pg_snapshot_xmax(pg_current_snapshot())) AS tx)',
      },
    ],
  },
  {
    name: 'extended-without-deadline',
    what: 'An extended order keeps its old deadline only',
    edits: [
      {
        file: `${ORDERS}closing/extend-window.ts`,
        find: 'await this.timeouts.arm(tx, [',
        replace: 'void (tx, [',
      },
    ],
  },
  {
    name: 'folding-from-the-beginning',
    what: 'Folding reads all that is folded again, as long as an old snapshot keeps it',
    spec: 'libs/orders/src/stock/fold-stock.spec.ts',
    edits: [
      {
        file: `${ORDERS}migrations/1763935000000-folding-from-a-mark.ts`,
        find: "'greatest(after_id, (SELECT from_id FROM stock_folding))'",
        replace: "'after_id'",
      },
    ],
  },
  {
    name: 'mark-passes-late-movements',
    what: 'What was numbered before the mark of folding and committed after it is never folded',
    spec: 'libs/orders/src/stock/fold-stock.spec.ts',
    edits: [
      {
        file: `${ORDERS}migrations/1763935000000-folding-from-a-mark.ts`,
        find: 'least(next_id, coalesce(lowest, next_id))',
        replace: 'next_id',
      },
    ],
  },
  {
    name: 'lag-of-many-told-once',
    what: 'Of a batch that is due at one instant one close is counted',
    spec: 'test/closing/mixed-batch.e2e.ts',
    edits: [
      {
        file: `${ORDERS}order/order-guard.ts`,
        find: 'told < count',
        replace: 'told < 1',
      },
    ],
  },
  ...ANSWER_MUTATIONS,
  ...CROWD_MUTATIONS,
  ...DESK_MUTATIONS,
  ...SPEC_MUTATIONS,
  ...ALARM_MUTATIONS,
  ...INSTALLATION_MUTATIONS,
  ...MONEY_MUTATIONS,
  ...TARGET_MUTATIONS,
  ...TARGET_RACE_MUTATIONS,
  ...ENDPOINT_MUTATIONS,
];

module.exports = { MUTATIONS };
