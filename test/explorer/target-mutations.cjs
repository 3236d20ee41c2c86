// Seeded bugs of close targets that a test of their mechanism has to find; see mutations.cjs.

const TARGETS = 'libs/orders/src/targets/';
const WAITS = 'test/hosts/target-waits.long.ts';
const REFERENCES = 'test/hosts/target-references.e2e.ts';
const JUDGEMENT = 'libs/orders/src/targets/target-refund.judgement.spec.ts';
const REFUNDS = 'test/hosts/target-refunds.long.ts';
const IDS = 'test/hosts/target-ids.e2e.ts';
const LOCKS = 'test/hosts/target-locks.long.ts';
const UNWRITTEN = 'test/hosts/target-unwritten.e2e.ts';
const LATE_MONEY = 'test/hosts/target-late-money.e2e.ts';
const OWN_ORDERS = 'test/hosts/own-orders.e2e.ts';
const RETENTION = 'test/hosts/target-retention.e2e.ts';

/**
 * @param {string} name
 * @param {string} what
 * @param {string} spec the test that has to fail
 * @param {string} file within libs/orders/src/targets
 * @param {string} find
 * @param {string} replace
 * @returns {import('./mutations.cjs').Mutation}
 */
const seeded = (name, what, spec, file, find, replace) => ({
  name,
  what,
  spec,
  edits: [{ file: `${TARGETS}${file}`, find, replace }],
});

const TARGET_MUTATIONS = [
  seeded(
    'deadline-has-the-last-reason',
    'A deadline that passes while an order waits for its provider says why it closes',
    WAITS,
    'target-orders.ts',
    "WHEN o.status = 'closing' AND excluded.status <> 'paid' THEN o.reason",
    'WHEN false THEN o.reason',
  ),
  seeded(
    'ended-payments-wait-on',
    'A paid order is said to wait for a payment that has been ended',
    WAITS,
    'target-waits.ts',
    "SELECT subject FROM ${table('timeout_subjects')} WHERE kind = kinds.kind || '.closing'",
    "SELECT order_id AS subject FROM ${table('target_orders')} WHERE kind = kinds.kind",
  ),
  seeded(
    'made-twice-and-forgotten',
    "A refund that was made by hand, and by its provider too, is nobody's to look at",
    REFUNDS,
    'target-refunds.ts',
    'if (isFirstTold) {',
    'if (false) {',
  ),
  seeded(
    'dismissed-unseen',
    'Whoever dismisses a second refund dismisses a third, too, of which they have not heard',
    REFUNDS,
    'target-desk.ts',
    'made_twice_at IS NOT NULL AND ${MADE_AS} = $2',
    'made_twice_at IS NOT NULL AND $2::text IS NOT NULL',
  ),
  seeded(
    'sent-beside-a-made-one',
    'A refund whose current attempt fails afterwards is sent again, though another attempt stands as made',
    JUDGEMENT,
    'target-refund.judgement.ts',
    'if (isCurrent && others.length === 0) {',
    'if (isCurrent) {',
  ),
  seeded(
    'namesake-has-ended',
    'A payment has ended when the one of the same id of another target has',
    REFERENCES,
    'target-payments.ts',
    'if (row.kind !== kind && this.targets.has(row.kind)) throw ofAnotherTarget(kind, row);',
    '',
  ),
  seeded(
    'first-target-takes-all',
    'Of two targets with a payment of the same id the first one gets the money',
    REFERENCES,
    'target-owners.ts',
    'if (payment) owners.push({ kind, payment });',
    'if (payment && owners.length === 0) owners.push({ kind, payment });',
  ),
  seeded(
    'one-target-fails-for-all',
    "What a close target throws for the id of another one's payment keeps that one from being paid",
    REFERENCES,
    'target-owners.ts',
    'if (owned.some(({ owners }) => owners.length === 0)) throw error;',
    'throw error;',
  ),
  seeded(
    'targets-trust-telemetry',
    "A host's telemetry is called as it is given: in part, and throwing",
    REFERENCES,
    'close-target.module.ts',
    'hostTelemetry(options.telemetry)',
    'options.telemetry ?? hostTelemetry()',
  ),
  seeded(
    'word-for-a-moved-order-is-dropped',
    'Money that an operator tells of, for an order that the shop has moved on, is written down by nobody',
    WAITS,
    'target-settling.ts',
    "const isPaid = word.as === 'paid';",
    "const isPaid = isLocked === true && word.as === 'paid';",
  ),
  seeded(
    'polled-and-asked',
    'Each close of an order behind the fence asks its provider at once',
    WAITS,
    'target-closing.ts',
    "const fresh = fenced.filter((id) => ours.get(id)?.status !== 'closing');",
    'const fresh = fenced.filter(() => ours);',
  ),
  seeded(
    'retried-beside-a-made-one',
    'A refund is sent again by its first exit, though an attempt stands as made',
    REFUNDS,
    'retry-target-refund.ts',
    'if (row.made !== null) throw goesBackTwice(row.made);',
    'if (false) throw goesBackTwice(String(row.made));',
  ),
  seeded(
    'retried-beside-an-unended-one',
    'A refund that a person has sent again goes out beside an attempt that its provider may make still',
    REFUNDS,
    'retry-target-refund.ts',
    'const how = row.isUnended ? ASKED_AFTER : SENT_ANEW;',
    'const how = row.isUnended && ASKED_AFTER === SENT_ANEW ? ASKED_AFTER : SENT_ANEW;',
  ),
  seeded(
    'null-is-1970',
    'A payment of which the shop has not written until when it can be paid counts as expired',
    UNWRITTEN,
    'checked-target.ts',
    "const NEEDED = ['paymentId', 'orderId', 'amount', 'expiresAt'] as const;",
    "const NEEDED = ['paymentId', 'orderId', 'amount'] as const;",
  ),
  seeded(
    'one-capture-pays-two',
    'What a provider captured once pays two orders, where its adapter tells of it as two payments',
    IDS,
    'target-money.ts',
    'if (namesake !== undefined && !before.some(isCaptureOf(capture))) {',
    'if (namesake !== undefined && before.length > 9) {',
  ),
  seeded(
    'follow-ups-wait-for-locks',
    'What follows answers of a provider waits for a row that somebody holds, by the connections of webhooks',
    LOCKS,
    'target-parts.ts',
    "FOLLOW_UP_LOCK_LIMIT = '20ms'",
    "FOLLOW_UP_LOCK_LIMIT = '1s'",
  ),
  seeded(
    'cancels-wait-for-locks',
    'Who cancels waits for a row that another holds, by the connections of webhooks',
    LOCKS,
    'close-targets.ts',
    "CLOSE_LOCK_LIMIT = '50ms'",
    "CLOSE_LOCK_LIMIT = '1s'",
  ),
  seeded(
    'dismissed-and-forgotten',
    'A webhook that an operator has dismissed is forgotten with those that were applied',
    RETENTION,
    'target-retention.ts',
    "status = 'processed' AND result IS DISTINCT FROM 'dismissed'",
    "status = 'processed'",
  ),
  seeded(
    'success-is-an-old-story',
    'A refund that its provider had under way stays so for ever, whatever it says of it',
    JUDGEMENT,
    'target-refund.judgement.ts',
    'return isOver && providerRefundId',
    'return (isOver || status) && providerRefundId',
  ),
  seeded(
    'end-without-an-id-of-any-attempt',
    'What is told again of an attempt before, without an id, ends the one under way, and another is sent beside it',
    REFUNDS,
    'target-refunds.ts',
    'providerRefundId !== null && answer.providerRefundId',
    'answer.providerRefundId',
  ),
  seeded(
    'retried-twice-at-once',
    'Two who have a refund tried again at the same time send two attempts',
    REFUNDS,
    'retry-target-refund.ts',
    "WHERE id = $1 AND status = 'needs_attention' FOR UPDATE",
    'WHERE id = $1 FOR UPDATE',
  ),
  seeded(
    'late-money-goes-back-anyway',
    'Late money goes back although the shop wants to decide about it',
    LATE_MONEY,
    'target-money.ts',
    "'hold' : this.parts.latePayment",
    "'hold' : 'refund'",
  ),
  seeded(
    'a-wave-is-of-one-payment',
    'Of payments that are told of together all but the first are held as those of another id',
    OWN_ORDERS,
    'target-money.ts',
    `other.providerPaymentId === providerPaymentId &&
    other.payment`,
    'other.payment',
  ),
];

module.exports = { TARGET_MUTATIONS };
