// Seeded bugs that take many orders and several workers to be found; see mutations.cjs.

const TIMEOUT = 'libs/timeout/src/';

/** @type {import('./mutations.cjs').Mutation[]} */
const CROWD_MUTATIONS = [
  {
    name: 'folded-twice',
    what: 'Folding does not hold the row of the product meanwhile, so that two fold the same',
    inCrowds: true,
    edits: [
      {
        file: 'libs/orders/src/migrations/1763700200000-stock-movements.ts',
        find: 'FOR NO KEY UPDATE SKIP LOCKED) AS p;',
        replace: ') AS p;',
      },
    ],
  },
  {
    name: 'nobody-looks-for-what-is-missed',
    what: 'What is late and has lost its alarm waits for the next sweep',
    inCrowds: true,
    edits: [
      {
        file: `${TIMEOUT}sweeping/sweep.ts`,
        find: 'lagMs > MISSED_MS',
        replace: 'lagMs > Infinity',
      },
    ],
  },
  {
    name: 'mark-passes-claims-of-others',
    what: 'Claims begin behind what another worker has claimed and then does not handle',
    inCrowds: true,
    edits: [
      {
        file: `${TIMEOUT}draining/claim-due.ts`,
        find: 'least(now(), (',
        replace: 'coalesce(now(), (',
      },
    ],
  },
  {
    name: 'arming-not-repeated',
    what: 'An alarm that the store has refused is forgotten',
    inCrowds: true,
    edits: [{ file: `${TIMEOUT}alarms/alarms.ts`, find: 'this.#keep(left);', replace: '' }],
  },
  {
    name: 'dead-worker-keeps-its-shard',
    what: 'What a worker had of a sweep in shards as it died is left to it for good',
    inCrowds: true,
    edits: [
      {
        file: `${TIMEOUT}shards/sweep-shards.ts`,
        find: '${IS_OPEN} AND ${IS_FREE}',
        replace: '${IS_OPEN} AND lease_until IS NULL',
      },
      {
        file: `${TIMEOUT}shards/sweep-shards.ts`,
        find: 'const IS_ALIVE = isHeldUntil(`coalesce(lease_until, begun_at + ${LEASE})`);',
        replace: 'const IS_ALIVE = `coalesce(lease_until, begun_at + ${LEASE}) > begun_at`;',
      },
    ],
  },
  {
    name: 'shards-report-what-others-did',
    what: 'A batch of a shard reports all that its round has done so far, over and over',
    inCrowds: true,
    edits: [
      {
        file: `${TIMEOUT}draining/drain-batch.ts`,
        find: 'await shard?.keep(tx, counts, ',
        replace: 'addCounts(total, counts);\n        await shard?.keep(tx, total, ',
      },
    ],
  },
  {
    name: 'subjects-held-for-a-bug',
    what: 'Subjects are to blame where the handler fails for all of them',
    inCrowds: true,
    edits: [
      {
        file: `${TIMEOUT}draining/handle-apart.ts`,
        find: 'this.options.isJudged && isForAll',
        replace: 'false',
      },
      {
        file: `${TIMEOUT}draining/handler-health.ts`,
        find: 'return this.#succeededMs >= this.nowMs() - putOffMs;',
        replace: 'return true;',
      },
    ],
  },
  {
    name: 'nobody-probes',
    what: 'A kind whose handler has failed waits for somebody to ring',
    inCrowds: true,
    edits: [
      {
        file: `${TIMEOUT}draining/drain.ts`,
        find: 'if (inMs === undefined || this.#isStopped || this.#probe) return;',
        replace: 'if (inMs !== Infinity) return;',
      },
    ],
  },
  {
    name: 'loan-is-never-paid',
    what: 'A backlog gives way to others for as long as it lasts',
    inCrowds: true,
    edits: [
      {
        file: `${TIMEOUT}draining/pace.ts`,
        find: 'this.#loanMs -= plan.restMs + tookMs * share;',
        replace: 'this.#loanMs -= 0 * share;',
      },
    ],
  },
];

module.exports = { CROWD_MUTATIONS };
