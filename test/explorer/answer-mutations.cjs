// Seeded bugs of what callers hear, and of whose context it is done in; see mutations.cjs.

const ANSWERS = 'test/api/whole-answers.e2e.ts';

/**
 * @param {string} name
 * @param {string} what
 * @param {string} spec the test that has to fail
 * @param {string} file
 * @param {string} find
 * @param {string} replace
 * @returns {import('./mutations.cjs').Mutation}
 */
const seeded = (name, what, spec, file, find, replace) => ({
  name,
  what,
  spec,
  edits: [{ file, find, replace }],
});

/** @type {import('./mutations.cjs').Mutation[]} */
const ANSWER_MUTATIONS = [
  seeded(
    'refusal-hangs-up',
    'A refusal ends while its request is still being sent, and is lost',
    ANSWERS,
    'apps/api/src/http/stay-for-body.ts',
    'request.complete ? refusal : Readable.from(endingWith(request, refusal))',
    'refusal',
  ),
  seeded(
    'garbage-answered-first',
    'What is no HTTP is told of before the answers to what stood before it',
    ANSWERS,
    'apps/api/src/http/client-error.ts',
    'if (underWay?.req.complete && isWhole(underWay)) {',
    'if (underWay?.req.destroyed && isWhole(underWay)) {',
  ),
  seeded(
    'hung-up-behind-a-refusal',
    'What stands between a refusal and what is no HTTP gets no answer',
    ANSWERS,
    'apps/api/src/http/client-error.ts',
    " || answer.hasHeader('content-length')",
    '',
  ),
  seeded(
    'paid-from-another-site',
    "Another site's link begins a payment of the buyer whose browser shows the cookie of a checkout",
    'test/api/checkout.e2e.ts',
    'apps/api/src/pages/checkout.controller.ts',
    'if (!isSameOrigin(request)) return',
    "if (request.method === 'POST') return",
  ),
  seeded(
    'console-in-clear',
    'The cookie of the console goes over a wire that others read',
    'test/api/console.e2e.ts',
    'apps/api/src/pages/console.controller.ts',
    "if (protocol === 'https' || LOOPBACK.test(host)) return;",
    'if (LOOPBACK.test(host) || protocol) return;',
  ),
  seeded(
    'several-by-any-number',
    'The console changes several orders where another number was typed than theirs',
    'test/api/console.e2e.ts',
    'apps/api/src/pages/console-work.controller.ts',
    'dryRun || ids.length === 1 || count === ids.length',
    'dryRun || ids.length > 0 || count === ids.length',
  ),
  seeded(
    'wait-unseen-by-doctor',
    'doctor says nothing of refunds that were not sent',
    'libs/orders/src/ops/waits.spec.ts',
    'libs/orders/src/ops/doctor/examine-waits.ts',
    "refund_unsent: 'refunds that were not sent',",
    '',
  ),
  seeded(
    'shared-in-the-context-of-one',
    'What several requests share is carried out in the context of the one that began it',
    'libs/orders/src/group-commit-context.spec.ts',
    'libs/orders/src/group-commit.ts',
    'nobodysContext.run(() => this.#runLane())',
    'this.#runLane()',
  ),
  seeded(
    'rings-in-the-context-of-one',
    'Deadlines are handled in the context that a driver of the host rings in, which is that of who has armed',
    'libs/timeout/src/host/rings-for-nobody.spec.ts',
    'libs/timeout/src/timeout.service.ts',
    'nobodysContext.run(() => this.#ring(alarms))',
    'this.#ring(alarms)',
  ),
  seeded(
    'out-of-transaction-ids-as-a-bug',
    'A Postgres without a transaction ID left is a bug of ours, and none that is away',
    'libs/timeout/src/database/database-errors.spec.ts',
    'libs/timeout/src/database/database-errors.ts',
    ' || isOutOfTransactionIds(error);',
    ';',
  ),
];

module.exports = { ANSWER_MUTATIONS };
