/**
 * The advisory locks of the product, by what each is for: two things that share a key stop each other,
 * and nothing tells. Functions in the database write their key out (migrations), so no key may change
 * its meaning. Postgres keeps pairs apart from single numbers; the turns of kinds of deadlines are pairs
 * that begin with a hash (libs/timeout, batch-entry.ts).
 */
export const ADVISORY_LOCKS = {
  /** With a customer's hash: what the customer holds unpaid is counted by one at a time. */
  customer: '1',
  /** With a customer's hash, shared: who makes links to the customer's orders; erasing keeps them from it. */
  links: '3',
  /** One relays to the event stream; erasing and rewinding keep it from doing so. */
  relay: '2, 0',
  /** One makes seals of the history; erasing and rewinding keep it from doing so. */
  seals: '2, 1',
  /** One writes events down as deliveries of webhooks; rewinding keeps it from doing so. */
  fanOut: '2, 2',
  /** One makes the nightly comparison, of hours. */
  reconcile: '2, 3',
  /** One counts out of the history what the console tells. */
  digest: '2, 4',
  /** Two that migrate take turns. Written out in libs/timeout (migration-turn.ts), which has tables of its own. */
  migrate: '7126354001',
  /** Two imports of products would only wait for each other's rows. */
  importProducts: '7126354002',
  /** Two who open a sharded sweep take turns. Written out in libs/timeout (sweep-shards.ts). */
  openSweep: '7126354003',
} as const satisfies Readonly<Record<string, string>>;

/** What one process of an installation does at a time, and the number of each beside its tables. */
const ALONE = {
  relay: 0,
  seals: 1,
  fanOut: 2,
  reconcile: 3,
  digest: 4,
  importProducts: 5,
} as const satisfies Partial<Record<keyof typeof ADVISORY_LOCKS, number>>;
export type Alone = keyof typeof ALONE;

/** By their oid, which they keep when they are moved to another schema. */
const OUR_TABLES = `'order_events'::regclass::oid::int`;

/**
 * True for one at a time of those who share our tables, as SQL, to the end of the transaction, or of the
 * `session`. A database may have several installations, so what is taken alone goes by the tables. The
 * key itself is shared by all: those take it alone who were here before, and functions in the database.
 */
export function trying(what: Alone, until: 'transaction' | 'session' = 'transaction'): string {
  const lock = until === 'session' ? 'pg_try_advisory_lock' : 'pg_try_advisory_xact_lock';
  return `${lock}_shared(${ADVISORY_LOCKS[what]}) AND ${lock}(${OUR_TABLES}, ${ALONE[what]})`;
}

/** The same, to be selected, for who waits. */
export function waitingFor(what: Alone): string {
  return `pg_advisory_xact_lock_shared(${ADVISORY_LOCKS[what]}),
          pg_advisory_xact_lock(${OUR_TABLES}, ${ALONE[what]})`;
}

/**
 * The turns of groups of orders, of all processes of an installation: shared by those who place beside each
 * other, and had by one alone whom the others were in the way of. Beside the numbers of {@link ALONE}.
 */
export const PLACING_TURN = `${OUR_TABLES}, 6`;
