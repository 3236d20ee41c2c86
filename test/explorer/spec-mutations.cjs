// Seeded bugs of libs/timeout that a test of their mechanism has to find; see mutations.cjs.

const TIMEOUT = 'libs/timeout/src/';

/**
 * @param {string} name
 * @param {string} what
 * @param {string} spec the test that has to fail, within libs/timeout/src
 * @param {...[file: string, find: string, replace: string]} edits
 * @returns {import('./mutations.cjs').Mutation}
 */
const seeded = (name, what, spec, ...edits) => ({
  name,
  what,
  spec: `${TIMEOUT}${spec}`,
  edits: edits.map(([file, find, replace]) => ({ file: `${TIMEOUT}${file}`, find, replace })),
});

const SPEC_MUTATIONS = [
  seeded(
    'many-wait-for-their-slot',
    'Where a thousand a second come due, each waits for the end of its slot',
    'drain.spec.ts',
    ['drain.ts', '({ found }) => this.#lookAgain(found),', '() => undefined,'],
  ),
  seeded(
    'ring-waits-for-drains',
    'A ring ends when what it asked for is done, so that one kind holds up the others',
    'independence.spec.ts',
    [
      'timeout.service.ts',
      "for (const drain of this.#all()) drain.signal('timer', sinceMs);",
      "await Promise.all(this.#all().map((drain) => drain.run('timer')));",
    ],
  ),
  seeded(
    'sweep-waits-for-drains',
    'A sweep ends when its drains have ended',
    'independence.spec.ts',
    [
      'sweep.ts',
      'return { ...counts, drained };',
      'await drained;\n    return { ...counts, drained };',
    ],
  ),
  seeded(
    'stop-waits-for-backlog',
    'A stop waits until nothing is due any more',
    'independence.spec.ts',
    ['drain.ts', 'while (!this.#isStopped && !round.failure', 'while (!round.failure'],
  ),
  seeded(
    'siblings-left-behind',
    'A round ends with its first failure, its other transactions going on behind its back',
    'independence.spec.ts',
    [
      'drain.ts',
      'while (round.drainers.size > 0) await Promise.all(round.drainers.values());',
      'while (round.drainers.size > 0 && !round.failure) await Promise.race(round.drainers.values());',
    ],
  ),
  seeded(
    'giving-way-without-end',
    'The loan by which a backlog gives way to others is renewed with each claim',
    'pace.spec.ts',
    ['pace.ts', 'if (this.#loanMs !== undefined) return;', ''],
  ),
  seeded(
    'many-judgements',
    'Each batch that wants the brake to judge has a judgement of its own',
    'brake-batches.spec.ts',
    ['brake.ts', 'this.#judging ??= this.#judgeOnce()', 'this.#judging = this.#judgeOnce()'],
  ),
  seeded('brake-fails-open', 'A judgement that fails counts as passed', 'brake-batches.spec.ts', [
    'brake.ts',
    'await this.#engageIfMany(suspect);',
    'this.#suspect = undefined;\n    this.#aheadMs = suspect.aheadMs;\n    await this.#engageIfMany(suspect);',
  ]),
  seeded(
    'brake-not-asked-by-batches',
    'A drain under way looks no more whether something is wrong',
    'brake-batches.spec.ts',
    ['drain-batch.ts', "if (brake.wantsToJudge(entry.clockNow, askedMs)) return 'unjudged';", ''],
  ),
  seeded(
    'brake-not-read-by-batches',
    'Whether the brake is on is what this process believes of it',
    'brake-batches.spec.ts',
    ['drain-batch.ts', "if (brake.isOnFor(entry)) return 'braked';", ''],
  ),
  seeded(
    'brake-forgets-restarts',
    'What was seen before this process began is not asked for',
    'brake-batches.spec.ts',
    [
      'brake.ts',
      'if (!this.#knowsLast || this.#suspect) return true;',
      'if (this.#suspect) return true;',
    ],
  ),
  seeded(
    'handler-never-to-blame',
    'A handler that fails for all stops nothing',
    'drain-handler-fault.spec.ts',
    ['handler-health.ts', 'if (areMany || worn) this.stop(error);', ''],
    [
      'handle-apart.ts',
      'if (this.options.isJudged && isForAll) throw',
      'if (this.options.isJudged && isForAll && this.total.succeeded > 0) throw',
    ],
  ),
  seeded(
    'held-while-all-fail',
    'A subject is held although nobody has succeeded since it began to fail',
    'handler-health.spec.ts',
    [
      'handler-health.ts',
      'return this.#succeededMs >= this.nowMs() - putOffMs;',
      'return putOffMs >= 0;',
    ],
  ),
  seeded(
    'whole-batch-blamed',
    'A batch that fails is made smaller and smaller instead of being handled in pieces',
    'handle-apart.spec.ts',
    [
      'handle-apart.ts',
      'const piece = this.#left.splice(-pieceSize(rate, due.length));',
      'const piece = this.#left.splice(-1);',
    ],
  ),
  seeded(
    'held-row-stops-its-kind',
    'A row that somebody holds ends the round: its batch is never handled in pieces',
    'drain-held-rows.spec.ts',
    [
      'drain-aside.ts',
      'claimed.count > 0 ? isSubjectsFault(error)',
      'claimed.count > 0 && !(error instanceof RowHeldError) ? isSubjectsFault(error)',
    ],
  ),
  seeded(
    'any-server-is-the-database',
    'A server of one subject that is away is taken for a database that is away',
    'drain-failures.spec.ts',
    ['subject-failure.ts', 'return !isOfDatabase(error) || ', 'return '],
  ),
  seeded(
    'silent-handler-not-given-up',
    'A transaction whose handler is silent is left to it: what comes late meets whoever has the connection then',
    'drain-silent-handler.spec.ts',
    ['handle-claimed.ts', 'withTimeLimit(this.tx.abandon(),', 'withTimeLimit(Promise.resolve(),'],
  ),
  seeded(
    'silent-handler-waited-for',
    'A handler that never answers stops its kind for good',
    'drain-silent-handler.spec.ts',
    ['handle-claimed.ts', 'await Promise.race([answered, silent])', 'await answered'],
  ),
  seeded(
    'intervals-by-the-wall-clock',
    'When the next sweep is due depends on a clock that may be set',
    'sweep.spec.ts',
    ['sweep.ts', 'this.#lastRunAtMs = startedMs;', 'this.#lastRunAtMs = Date.now();'],
  ),
  seeded(
    'estimate-by-the-wall-clock',
    "The database's time is reckoned from a clock that may be set",
    'database-clock.spec.ts',
    [
      'database-clock.ts',
      'private readonly local: Clock = monotonicClock',
      'private readonly local: Clock = systemClock',
    ],
  ),
  seeded(
    'queueing-taken-for-the-round-trip',
    "A slow answer about the database's time is believed like a quick one",
    'database-clock.spec.ts',
    [
      'database-clock.ts',
      'this.#offsetMs === undefined || isGood',
      'this.#offsetMs === undefined || isGood || true',
    ],
  ),
  seeded(
    'ended-slot-armed-once',
    'A slot that has ended is not armed again, although its alarm may have rung before this commit',
    'alarms.spec.ts',
    [
      'alarms.ts',
      'if (atMs <= nowMs || !this.#armedSlots.has(atMs))',
      'if (!this.#armedSlots.has(atMs))',
    ],
  ),
  seeded(
    'forgetting-is-overwritten',
    'What was armed while trust was lost is trusted',
    'alarms.spec.ts',
    ['alarms.ts', 'if (epoch !== this.#epoch) return armed;', ''],
    ['alarms.ts', 'epoch !== this.#epoch) return;', 'epoch < 0) return;'],
  ),
  seeded(
    'arming-by-the-machines-clock',
    'A process whose clock is behind takes what is near for far, and arms nothing',
    'alarms.spec.ts',
    ['alarms.ts', 'await this.clock.freshen().catch(() => undefined);', ''],
  ),
  seeded(
    'slots-pruned-by-sweeps-only',
    'A process that only arms remembers every slot it ever armed',
    'alarms.spec.ts',
    ['alarms.ts', 'this.#prune(this.clock.nowMs());', ''],
  ),
  seeded(
    'armed-for-nobody',
    'A process that does not ring arms alarms that nobody else would ring',
    'alarms.spec.ts',
    ['timer-limits.ts', "return abilities.scope === 'shared' || rings;", 'return true;'],
  ),
  seeded(
    'rings-before-it-is-forgotten',
    'An alarm rings while the store still knows it, so that arming it again does nothing',
    'drivers/bullmq/bullmq.driver.spec.ts',
    [
      'drivers/bullmq/alarm-worker.ts',
      "this.bullmq.on('completed', completed);",
      "this.bullmq.on('active', completed);",
    ],
  ),
  seeded(
    'silent-worker-stays',
    'A worker of the store that takes nothing any more, and says nothing, is left as it is',
    'drivers/bullmq/bullmq.driver.spec.ts',
    [
      'drivers/bullmq/bullmq.ringer.ts',
      'if (this.#missed > 1 && !this.#stopping) this.#replace(worker);',
      'if (this.#missed < 0) this.#replace(worker);',
    ],
  ),
  seeded(
    'locks-not-extended',
    'A lock ends under its owner, who is only slow',
    'locks/redlock.lock.spec.ts',
    [
      'locks/redlock.lock.ts',
      'if (extendForMs === 0) return () => undefined;',
      'if (extendForMs >= 0) return () => undefined;',
    ],
  ),
  seeded(
    'one-ignores-batches',
    'A payment takes the lock of an order that a batch is closing',
    'locks/redlock.lock.spec.ts',
    [
      'locks/redlock-scripts.ts',
      "if redis.call('SISMEMBER', batch, KEYS[index]) == 1 then return 0 end",
      '',
    ],
  ),
  seeded('batches-overlap', 'Two batches hold the same order', 'locks/redlock.lock.spec.ts', [
    'locks/redlock-scripts.ts',
    "busy = busy + #redis.call('SINTER', own, other)",
    '',
  ]),
  seeded(
    'batch-ignores-payments',
    'A batch takes the lock of an order that is being paid',
    'locks/redlock.lock.spec.ts',
    ['locks/redlock-scripts.ts', "busy = busy + redis.call('SISMEMBER', own, single)", ''],
  ),
  seeded(
    'register-forgets-extended',
    'A batch takes the lock of an order that is being paid for longer than a lock lives',
    'locks/redlock.lock.spec.ts',
    ['locks/redlock-scripts.ts', "redis.call('ZADD', SINGLE, until_ms, KEYS[index])", ''],
  ),
  seeded(
    'put-back-at-once',
    'What somebody else has locked is due again a moment later, however long they have had it',
    'lock-batch.spec.ts',
    ['lock-batch.ts', 'Math.max(CONTENDED_RETRY_FIRST_MS, busyForMs)', 'CONTENDED_RETRY_FIRST_MS'],
  ),
  seeded('turns-for-everybody', 'Any number of processes drain at once', 'drain-turns.spec.ts', [
    'batch-entry.ts',
    "WHERE pg_try_advisory_xact_lock(hashtext('deadlines ' || current_schema || ' ' || $1), turn) LIMIT 1",
    "WHERE $1 <> '' LIMIT 1",
  ]),
  seeded(
    'claims-from-the-beginning',
    'Claims read all that is gone again, as long as an old snapshot keeps it',
    'low-water.spec.ts',
    ['low-water.ts', 'const look = { fromMs: this.#fromMs,', 'const look = { fromMs: 0,'],
  ),
  seeded(
    'late-commits-forgotten',
    'Who looks for what is missed looks a few seconds back, whatever transaction is open',
    'late-commits.spec.ts',
    ['late-commits.ts', 'next <= seen.oldestOpen', 'next <= seen.next'],
  ),
  seeded(
    'judged-by-the-named',
    'A handler is taken for broken by those that errors name, before any other has had its turn',
    'handle-apart.spec.ts',
    ['handle-apart.ts', 'return this.total.succeeded > 0 ?', 'return this.total.succeeded >= 0 ?'],
  ),
  seeded(
    'takes-from-the-beginning',
    'Alarms that are taken are looked for among all that have rung, as long as an old snapshot keeps them',
    'drivers/postgres/postgres.driver.spec.ts',
    [
      'drivers/postgres/alarm-table.ts',
      'look_at <= $2 AND look_at >= $6',
      "look_at <= $2 AND $6::timestamptz <> '-infinity'",
    ],
  ),
  seeded(
    'heads-never-looked-for-again',
    'An alarm that nobody was told of is passed by for good',
    'drivers/postgres/postgres.driver.spec.ts',
    [
      'drivers/postgres/head-mark.ts',
      'find(Math.min(look.fromMs, this.#againFromMs()))',
      'find(look.fromMs)',
    ],
  ),
  seeded(
    'far-among-the-near',
    'What is due in weeks waits where claims look',
    'far-deadlines.spec.ts',
    [
      'far-deadlines.ts',
      "return `(${dueAt}) > now() + interval '1 hour'`;",
      'return `(${dueAt}) IS NULL`;',
    ],
  ),
  seeded(
    'deleted-by-place-alone',
    'A claim deletes by ctid, which names a row in one partition only',
    'far-deadlines.spec.ts',
    ['deadlines.ts', '(SELECT place FROM picked)) AND ${IS_PICKED}', '(SELECT place FROM picked))'],
  ),
  seeded(
    'unknown-kinds-stop-the-boot',
    'Deadlines of a kind that another version knows stop this one',
    'sweep.spec.ts',
    [
      'timeout.service.ts',
      'if (unknown.length > 0) this.parts.telemetry.unknownKinds(unknown);',
      'if (unknown.length > 0) throw new UnhandledDeadlineError(unknown);',
    ],
  ),
  seeded(
    'standby-kept',
    'A connection that refuses to write after a failover stays in the pool',
    'transaction.spec.ts',
    ['transaction.ts', 'if (sqlStateOf(failure) === READ_ONLY) void connection.end();', ''],
  ),
  seeded(
    'put-back-without-alarm',
    'A deadline that a batch puts back has no alarm',
    'drain.spec.ts',
    [
      'drain-batch.ts',
      'this.parts.alarms.ensure(back);\n          addCounts(total, counts);\n          this.#tell',
      'addCounts(total, counts);\n          this.#tell',
    ],
  ),
  seeded(
    'jump-not-noticed',
    'A clock that somebody has set an hour ahead closes what is due by it',
    'brake.spec.ts',
    ['brake.ts', 'if (leastMs - knownMs > JUMP_MS) {', 'if (leastMs - knownMs > Infinity) {'],
  ),
  seeded(
    'sweep-waits-for-arming',
    'A worker whose store takes long to arm has no heartbeat meanwhile',
    'sweep.spec.ts',
    ['sweep.ts', "withTimeLimit(this.#arming, armingLimitMs, 'Not armed')", 'this.#arming'],
  ),
  seeded(
    'bullmq-spins',
    'Only what Redis itself has refused makes BullMQ wait before it asks again',
    'drivers/bullmq/bullmq.driver.spec.ts',
    [
      'drivers/bullmq/alarm-worker.ts',
      'this.#errors >= MOST_ERRORS',
      "error.name === 'ReplyError'",
    ],
  ),
  seeded(
    'listening-left-to-ioredis',
    'A connection that may not listen again after it was lost ends the process',
    'drivers/redis-alarm-store.spec.ts',
    ['drivers/redis-alarm-store.ts', 'autoResubscribe: false', 'autoResubscribe: true'],
  ),
  seeded(
    'late-answer-is-a-jump',
    'What the clock said is taken for what it says as the answer is heard',
    'brake-batches.spec.ts',
    ['brake.ts', 'Math.min(mostMs, Math.max(leastMs, knownMs))', 'leastMs'],
  ),
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
];

module.exports = { SPEC_MUTATIONS };
