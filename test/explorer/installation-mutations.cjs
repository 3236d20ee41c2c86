// Seeded bugs of installations that share a database or a Redis with others; see mutations.cjs.

const { seeded } = require('./spec-mutations.cjs');

/** @type {import('./mutations.cjs').Mutation[]} */
const INSTALLATION_MUTATIONS = [
  {
    name: 'installations-hold-each-other-up',
    what: 'What one process does at a time, one of all installations in the database does',
    spec: 'libs/orders/src/order/advisory-locks.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/order/advisory-locks.ts',
        find: '${lock}_shared(',
        replace: '${lock}(',
      },
    ],
  },
  {
    name: 'redis-of-another-untold',
    what: 'A process that starts looks whose its Redis is, and does not say that it is ours now',
    spec: 'libs/orders/src/ops/tell-of-redis.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/ops/redis-owner.ts',
        find: 'client.getset(this.#key, us)',
        replace: 'client.get(this.#key)',
      },
    ],
  },
  {
    name: 'restored-dump-unknown',
    what: 'A restored dump passes for the database that it was taken of',
    spec: 'libs/orders/src/ops/tell-of-redis.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/ops/redis-owner.ts',
        find: '[await databaseId(dataSource), await readInstallationId(dataSource)]',
        replace: '[await readInstallationId(dataSource)]',
      },
    ],
  },
  {
    name: 'commands-change-unheard',
    what: "A command changes orders beside a host whose hooks and stock are in the host's processes alone",
    spec: 'libs/orders/src/order/hooks-elsewhere.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/order/order-hooks.ts',
        find: 'if (this.areElsewhere) throw hooksElsewhere();',
        replace: 'if (this.areElsewhere) return false;',
      },
    ],
  },
  {
    name: 'reasons-stay-in-the-stream',
    what: "A command without Redis erases a customer, and leaves operators' reasons in the stream",
    spec: 'libs/orders/src/ops/erase-customer.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/ops/erase-customer.ts',
        find: 'if (this.stream.appendBehind) return;',
        replace: 'return;',
      },
    ],
  },
  {
    name: 'schema-of-the-shell',
    what: 'Of two shops in one database a command acts on the one that the shell names, and not on that of its context',
    spec: 'apps/ops-cli/src/locate.spec.ts',
    edits: [
      {
        file: 'apps/ops-cli/src/locate.ts',
        find: "const OF_A_CONTEXT = ['DATABASE_URL', 'DATABASE_SCHEMA', ",
        replace: "const OF_A_CONTEXT = ['DATABASE_URL', ",
      },
    ],
  },
  {
    name: 'migrated-without-grants',
    what: 'An owner who may make no schema migrates, and gives the application no rights',
    spec: 'libs/orders/src/application-role.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/migrate.ts',
        find: 'if (await grants()) await expectMayMakeSchemas(turn);',
        replace: '',
      },
    ],
  },
  {
    name: 'hook-of-two-names-twice',
    what: 'A hook or handler that a factory hands on under another name is told of each change twice',
    spec: 'libs/timeout/src/host/find-handlers.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/host/as-provider.ts',
        find: 'if (!type || found.has(instance)) return [];',
        replace: 'if (!type) return [];',
      },
    ],
  },
  {
    name: 'errand-taken-again',
    what: 'What a worker has begun and not answered is taken by the next',
    spec: 'libs/orders/src/errands/errands.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/errands/carry-out-errands.ts',
        find: 'WHERE begun_at IS NULL AND waited_at >',
        replace: 'WHERE answer IS NULL AND waited_at >',
      },
    ],
  },
  {
    name: 'errand-of-another-provider',
    what: 'A worker requests a refund of money that a provider of the host has, without that provider',
    spec: 'libs/orders/src/errands/errands-by-provider.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/errands/carry-out-errands.ts',
        find: 'AND p.provider <> ALL ($4::text[])',
        replace: 'AND p.provider <> ALL ($4::text[]) AND false',
      },
    ],
  },
  {
    name: 'errand-of-hooks-without-the-provider',
    what: "A worker with the host's hooks requests a refund, or any extends a payment, without the provider that has it",
    spec: 'libs/orders/src/errands/errands-by-provider.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/errands/carry-out-errands.ts',
        find: "what IN ('orders.extend', 'refunds.create', ",
        replace: 'what IN (',
      },
    ],
  },
  {
    name: 'errand-of-an-older-worker',
    what: 'A worker that knows of no payment that is named settles an order by the newest one that is open',
    spec: 'test/ops-cli/at-host.e2e.ts',
    edits: [
      {
        file: 'apps/ops-cli/src/at-host.ts',
        find: "this.#leave('orders.settle-payment', [",
        replace: "this.#leave('orders.settle' as never, [",
      },
    ],
  },
  {
    name: 'errand-nobody-waits-for',
    what: 'A worker begins what a command has left that is gone since',
    spec: 'libs/orders/src/errands/errands.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/errands/carry-out-errands.ts',
        find: "AND waited_at > now() - $1 * interval '1 millisecond'",
        replace: 'AND $1 > 0',
      },
    ],
  },
  {
    name: 'extension-waits-for-hooks',
    what: 'An extension that a command leaves to a worker is left alone where the host has no hooks',
    spec: 'libs/orders/src/errands/errands.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/errands/carry-out-errands.ts',
        find: 'Object.keys(this.#kinds) : WITHOUT_HOOKS, AT_ONCE',
        replace: 'Object.keys(this.#kinds) : [], AT_ONCE',
      },
    ],
  },
  {
    name: 'errand-without-its-hooks',
    what: "A worker without the host's hooks makes the changes that these have to hear of",
    spec: 'libs/orders/src/errands/errands.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/errands/carry-out-errands.ts',
        find: 'this.hooks.hasAny ? Object.keys(this.#kinds) : WITHOUT_HOOKS, AT_ONCE',
        replace: 'Object.keys(this.#kinds), AT_ONCE',
      },
    ],
  },
  seeded(
    'migrations-wait-for-ever',
    'A migration waits for a table as long as somebody reads it, and everybody else behind it',
    'database/run-migrations.spec.ts',
    [
      'database/patiently.ts',
      "('lock_timeout', (${limitMs})::text, false)",
      "('lock_timeout', '0', false)",
    ],
  ),
  {
    name: 'function-beyond-its-rights',
    what: 'A function that the application calls reads a table to which it has no right until all migrations are through',
    spec: 'libs/orders/src/application-role.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/migrations/1763945000000-history-digest.ts',
        find: '    await runner.query(GRANTS);',
        replace: '',
      },
    ],
  },
  {
    name: 'index-behind-a-lock',
    what: 'A migration keeps a table from others while it reads it for an index',
    spec: 'libs/orders/src/migration-locks.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/migrations/1764041000000-retention-by-index.ts',
        find: "    for (const status of ['delivered', 'dead']) {",
        replace: `    await runner.query('DROP INDEX webhook_deliveries_settled');
    for (const status of ['delivered', 'dead']) {`,
      },
    ],
  },
  {
    name: 'host-takes-deadlines-of-orders',
    what: 'A handler of a host takes the deadlines of orders, whose kind has the name of its own',
    spec: 'test/hosts/kinds-of-orders.e2e.ts',
    edits: [
      {
        file: 'libs/timeout/src/host/timeout-runtime.ts',
        find: 'await onceFree(this.#dataSource, () => this.timeouts.assertFree(this.#kinds));',
        replace: '',
      },
    ],
  },
  {
    name: 'session-settings-stay',
    what: 'What a host has set for its session stays on a connection of ours',
    spec: 'libs/timeout/src/host/host-handler.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/database/in-transaction.ts',
        find: 'if (tx.isLent) await resetSession(runner);',
        replace: '',
      },
    ],
  },
  {
    name: 'cancel-loses-to-a-handler',
    what: 'A deadline that its handler arms again just now is not taken back, and not moved',
    spec: 'libs/timeout/src/host/subjects.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/host/subjects.ts',
        find: 'const MOST_TRIES = 100;',
        replace: 'const MOST_TRIES = 1;',
      },
    ],
  },
  {
    name: 'store-blamed-for-handlers',
    what: 'The timer store counts as unhealthy while a handler takes long',
    spec: 'libs/timeout/src/sweeping/sweep.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/sweeping/left-alone.ts',
        find: 'late.filter(({ kind }) => !underWay.includes(kind)),',
        replace: 'late,',
      },
    ],
  },
  {
    name: 'standstill-passed-on',
    what: 'A handler for which Postgres has ended the transaction is waited for, while another process calls it anew',
    spec: 'libs/timeout/src/draining/drain-silent-handler.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/draining/handle-claimed.ts',
        find: 'this.#giveUp();',
        replace: '',
      },
    ],
  },
  {
    name: 'failed-and-gone-is-silent',
    what: 'Of one that failed nothing is told where somebody else has it by then',
    spec: 'libs/timeout/src/draining/drain-aside.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/draining/drain-aside.ts',
        find: 'if (!isMine) this.parts',
        replace: 'if (false as boolean) this.parts',
      },
    ],
  },
  {
    name: 'held-rows-take-the-time',
    what: 'Thousands of rows that somebody holds are all looked at every few seconds, and who is free waits for that',
    spec: 'libs/timeout/src/draining/suspects.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/draining/suspects.ts',
        find: 'const LOOKS_A_SECOND = 100;',
        replace: 'const LOOKS_A_SECOND = Infinity;',
      },
    ],
  },
  {
    name: 'freed-rows-wait-their-turn',
    what: 'Where thousands of rows were held and are free, each waits for its own turn',
    spec: 'libs/timeout/src/draining/drain-held-rows.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/draining/suspects.ts',
        find: 'known.length * FOR_EACH_FREE]',
        replace: '0]',
      },
    ],
  },
  {
    name: 'whoever-is-named-is-to-blame',
    what: 'Names in errors are trusted before any has proved to be right',
    spec: 'libs/timeout/src/draining/handle-apart.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/draining/failure-rates.ts',
        find: 'return this.#proofs >= PROOFS;',
        replace: 'return true;',
      },
    ],
  },
  {
    name: 'few-held-rows-end-a-batch',
    what: 'A batch that has met some rows that are held leaves all others untried',
    spec: 'libs/timeout/src/draining/drain-held-rows.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/draining/handle-apart.ts',
        find: 'const MOST_WAITS = 250;',
        replace: 'const MOST_WAITS = 50;',
      },
    ],
  },
  {
    name: 'lent-transaction-ends',
    what: 'A handler of a host that ends its transaction counts as one that has handled',
    spec: 'libs/timeout/src/host/host-handler.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/database/transaction.ts',
        find: 'this.isLent && endsTransaction(sql)',
        replace: 'this.isLent && sql === ""',
      },
    ],
  },
  {
    name: 'lent-transaction-ends-within',
    what: 'A handler of a host that ends its transaction by one of several statements counts as one that has handled',
    spec: 'libs/timeout/src/host/host-handler.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/database/lent-transaction.ts',
        find: "mayEnd(sql) ? { queryMode: 'extended' } : {};",
        replace: '({});',
      },
    ],
  },
  {
    name: 'all-connections-at-once',
    what: 'A pool opens all of its connections at once',
    spec: 'libs/timeout/src/database/connect-in-turn.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/database/connect-in-turn.ts',
        find: 'const AT_ONCE = 4;',
        replace: 'const AT_ONCE = 40;',
      },
    ],
  },
  {
    name: 'released-deadline-lost',
    what: 'A deadline that was released before its order is due is taken for one that an extension has replaced',
    spec: 'libs/orders/src/closing/early-deadlines.spec.ts',
    edits: [
      {
        file: 'libs/orders/src/closing/payment.deadline.ts',
        find: 'one.version < (row.since_version ?? one.version)',
        replace: 'one.version !== (row.since_version ?? one.version)',
      },
    ],
  },
  {
    name: 'option-lock-never-taken',
    what: 'A handler of a host changes a subject while somebody holds its key',
    spec: 'libs/timeout/src/host/subject-locks.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/host/host-handler.ts',
        find: 'if (locks) this.lockKeys',
        replace: 'if (!locks) this.lockKeys',
      },
    ],
  },
  {
    name: 'lock-of-a-host-waited-for',
    what: 'A lock of a host that never answers takes a lane of its kind for good',
    spec: 'libs/timeout/src/host/answered-lock.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/host/answered-lock.ts',
        find: 'const ANSWERS_WITHIN_MS = 1_000;',
        replace: 'const ANSWERS_WITHIN_MS = Infinity;',
      },
    ],
  },
  {
    name: 'two-rows-of-one-brake',
    what: 'Two workers that judge at the same moment, by two kinds, put on a brake each',
    spec: 'libs/timeout/src/brake/brakes-apart.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/brake/brake-table.ts',
        find: "await tx.rows('LOCK TABLE timeout_brakes IN SHARE ROW EXCLUSIVE MODE');",
        replace: '',
      },
    ],
  },
  {
    name: 'silent-work-of-the-host',
    what: "A close target that never answers has its order's attempt, and a place of its lane, for good",
    spec: 'libs/timeout/src/host/host-transactions.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/host/host-transactions.ts',
        find: "await unlessItStandsStill(tx, 'The work of the host', () =>\n      work(hostTx(tx, hookFailed)),\n    );",
        replace: 'await work(hostTx(tx, hookFailed));',
      },
    ],
  },
  {
    name: 'failed-sweep-waits-for-hours',
    what: 'After a sweep that failed a worker sweeps, and says that it lives, as late as if it had not',
    spec: 'libs/timeout/src/timeout-run.spec.ts',
    edits: [
      {
        file: 'libs/timeout/src/sweeping/sweep.ts',
        find: 'Math.min(intervalMs, FAILED_AGAIN_MS)',
        replace: 'intervalMs',
      },
    ],
  },
  {
    name: 'canceled-twice-by-the-client',
    what: 'A cancel that may have been carried out is sent again, and refused as the order is canceled',
    spec: 'test/client/client.e2e.ts',
    edits: [
      {
        file: 'libs/client/src/http.ts',
        find: ": error.code === 'busy';",
        replace: ': error.status === 503;',
      },
    ],
  },
];

module.exports = { INSTALLATION_MUTATIONS };
