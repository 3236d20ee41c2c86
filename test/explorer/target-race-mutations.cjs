// Seeded bugs of close targets that races find, in programs of a shop with an orders table of its own; see mutations.cjs.

const TARGETS = 'libs/orders/src/targets/';

/**
 * @param {string} name
 * @param {string} what
 * @param {string} file within libs/orders/src/targets
 * @param {string} find
 * @param {string} replace
 * @returns {import('./mutations.cjs').Mutation}
 */
const seeded = (name, what, file, find, replace) => ({
  name,
  what,
  ofTargets: true,
  edits: [{ file: `${TARGETS}${file}`, find, replace }],
});

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
];

module.exports = { TARGET_RACE_MUTATIONS };
