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
    'libs/timeout/src/database-errors.spec.ts',
    'libs/timeout/src/database-errors.ts',
    ' || isOutOfTransactionIds(error);',
    ';',
  ),
];

module.exports = { ANSWER_MUTATIONS };
