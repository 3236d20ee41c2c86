// Seeded bugs that operators at work are needed to find, or refunds that fail; see mutations.cjs.

const ORDERS = 'libs/orders/src/';

/** @type {import('./mutations.cjs').Mutation[]} */
const DESK_MUTATIONS = [
  {
    name: 'settled-refund-not-held',
    what: 'Whoever settles a refund by hand does not hold its row: the answer of its provider may come between',
    atDesk: true,
    edits: [
      {
        file: `${ORDERS}ops/finish-refund.ts`,
        find: 'WHERE r.id = $1 FOR NO KEY UPDATE OF r`,',
        replace: 'WHERE r.id = $1`,',
      },
    ],
  },
  {
    name: 'decided-twice',
    what: 'Money on hold that an operator has decided about is decided about again',
    atDesk: true,
    edits: [
      {
        file: `${ORDERS}ops/held-payments.ts`,
        find: 'if (!payment?.holdReason) throw',
        replace: 'if (!payment) throw',
      },
    ],
  },
];

module.exports = { DESK_MUTATIONS };
