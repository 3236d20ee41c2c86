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
        file: `${TIMEOUT}sweep.ts`,
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
      { file: `${TIMEOUT}deadlines.ts`, find: 'least(now(), (', replace: 'coalesce(now(), (' },
    ],
  },
  {
    name: 'arming-not-repeated',
    what: 'An alarm that the store has refused is forgotten',
    inCrowds: true,
    edits: [{ file: `${TIMEOUT}alarms.ts`, find: 'this.#keep(alarms);', replace: '' }],
  },
];

module.exports = { CROWD_MUTATIONS };
