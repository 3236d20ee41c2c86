// Seeded bugs of close targets that races find, in programs of a shop with an orders table of its own; see mutations.cjs.

const { seededIn } = require('./seeded-in.cjs');

const seeded = seededIn('libs/orders/src/targets/', { ofTargets: true });

const TARGET_RACE_MUTATIONS = [
  seeded(
    'slipped-in-payment-is-overlooked',
    'An order behind the fence closes once those payments have ended that were asked about, whatever was opened meanwhile',
    'target-settling.ts',
    'if (left.length > 0) return false;',
    "if (order?.status !== 'closing' && left.length > 0) return false;",
  ),
  seeded(
    'busy-order-has-moved-on',
    'Money for an order whose row somebody has counts as money for one that the shop has moved on',
    'target-money.ts',
    "if (isLocked === false) return [id, 'busy'];",
    "if (isLocked === false) return [id, 'moved_on'];",
  ),
  seeded(
    'each-attempt-has-a-new-key',
    'A refund whose answer was lost is sent again by another key',
    'target-refunds.ts',
    "SET attempt = CASE status WHEN 'failed' THEN attempt + 1 ELSE attempt END,",
    "SET attempt = CASE status WHEN 'pending' THEN attempt ELSE attempt + least(asked, 1) END,",
  ),
  seeded(
    'ended-beats-captured',
    'A payment that its provider says has ended counts as ended, though money of it is recorded by then',
    'target-payments.ts',
    'ON CONFLICT DO NOTHING`',
    "ON CONFLICT (provider, payment_id, provider_payment_id) DO UPDATE SET status = 'ended', amount = NULL, currency = NULL, paid_at = NULL, verdict = NULL`",
  ),
  seeded(
    'next-question-is-not-armed',
    'A provider is asked about an order behind the fence, and nobody asks again where it does not answer',
    'target-handlers.ts',
    '...asked.map(({ orderId, attempt }) => ({ subjectId: orderId, inMs: backoffMs(attempt) })),',
    '',
  ),
  seeded(
    'second-capture-pays-too',
    'Of two captures of one order that are told of together, both pay it',
    'target-money.ts',
    "if (judgement.verdict === 'pay') standings.set(orderId, 'paid');",
    '',
  ),
];

module.exports = { TARGET_RACE_MUTATIONS };
