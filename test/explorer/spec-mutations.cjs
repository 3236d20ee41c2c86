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
    'looked-for-once-a-slot',
    'Who hears a slot looks as it begins, and no more: what is due within it waits to be missed',
    'draining/slot-watch.spec.ts',
    ['draining/slot-watch.ts', 'atMs === Infinity) return;', 'atMs !== 0) return;'],
  ),
  seeded(
    'done-behind-the-front',
    'A round is over once a claim behind the front finds less than it wanted: what came before it waits',
    'draining/claim-front.spec.ts',
    [
      'draining/drain-batch.ts',
      'return [claimed, !isFull && !look?.from];',
      'return [claimed, !isFull];',
    ],
  ),
  seeded(
    'front-for-ever',
    'While a burst lasts, no claim looks at what came before the front',
    'draining/claim-front.spec.ts',
    [
      'draining/claim-front.ts',
      'isFresh ? this.#place : undefined',
      'isFresh || true ? this.#place : undefined',
    ],
  ),
  seeded(
    'front-past-what-came-back',
    'A claim that began before a batch was rolled back moves the front past what came back',
    'draining/claim-front.spec.ts',
    ['draining/claim-front.ts', 'if (look.generation !== this.#generation) return;', ''],
  ),
  seeded(
    'looks-behind-its-slot',
    'Who hears a slot goes on behind its end, beside who hears the next',
    'draining/slot-watch.spec.ts',
    [
      'draining/claim-due.ts',
      'AND due_at <= $5::timestamptz',
      "AND coalesce($5, now()) <= 'infinity'",
    ],
  ),
  seeded(
    'looks-all-the-time',
    'Who hears a slot looks for what is due in it without a pause',
    'draining/slot-watch.spec.ts',
    [
      'draining/slot-watch.ts',
      'Math.max(found > 0 ? APART_MS : 1, Math.ceil(atMs - performance.now()))',
      '1',
    ],
  ),
  seeded(
    'looks-while-it-may-not',
    'Who hears a slot looks all the time for what is due, while a round may claim nothing',
    'draining/slot-watch.spec.ts',
    ['draining/slot-watch.ts', 'this.#nextMs = this.#backMs = Infinity;', ''],
  ),
  seeded(
    'put-back-rings-as-well',
    'What comes back to a slot that is watched has the slot rung once more',
    'draining/slot-watch.spec.ts',
    [
      'draining/drain-aside.ts',
      'const unseen = shard ? back :',
      'const unseen = back.length > 0 ? back :',
    ],
  ),
  seeded(
    'watch-ends-as-its-slot-begins',
    'Who hears a slot watches it until it begins',
    'draining/slot-watch.spec.ts',
    ['timeout.service.ts', 'Math.max(...rung) + slotMs;', 'Math.max(...rung);'],
  ),
  seeded(
    'slot-forgotten-by-who-ends',
    'A process that ends takes the rest of the slots that it watches along',
    'draining/slot-watch.spec.ts',
    [
      'draining/drain.ts',
      'if (slotEndMs !== undefined) this.parts.alarms.ringAgain(slotEndMs);',
      '',
    ],
  ),
  seeded(
    'rings-for-who-ends',
    'What rings in a process that ends is spent, though nothing is handled there',
    'draining/slot-watch.spec.ts',
    ['timeout.service.ts', 'if (this.#isStopping) return', 'if (this.#isStopping && false) return'],
  ),
  seeded(
    'looks-behind-what-comes-back',
    'What comes back to a slot that is watched lies before where its claims look',
    'draining/slot-watch.spec.ts',
    ['draining/slot-watch.ts', 'this.lowWater.lower(dueAt.getTime());', ''],
  ),
  seeded(
    'slot-forgotten-amid-a-look',
    'A process that ends while it looks takes what it would have found in the slot along',
    'draining/slot-watch.spec.ts',
    ['draining/slot-watch.ts', 'this.#isLooking || this.#atMs < Infinity', 'this.#atMs < Infinity'],
  ),
  seeded(
    'courtesy-paid-by-each',
    'A herd leaves customers a core for the shorter, the more drainers there are',
    'draining/pace.spec.ts',
    [
      'draining/pace.ts',
      'this.#courteousForMs -= tookMs / plan.drainers',
      'this.#courteousForMs -= tookMs',
    ],
  ),
  seeded(
    'oldest-seeks-the-future',
    'A claim reads on in the future for the oldest that is due, through all that was paid in time',
    'deadlines/low-water.spec.ts',
    [
      'draining/claim-due.ts',
      'due_at >= ${MARK} AND due_at <= now() AND ${due}\n            ORDER BY',
      'due_at >= ${MARK} AND ${due}\n            ORDER BY',
    ],
  ),
  seeded(
    'ring-waits-for-drains',
    'A ring ends when what it asked for is done, so that one kind holds up the others',
    'independence.spec.ts',
    [
      'timeout.service.ts',
      "drain.signal('timer', Math.min(...rung) - slotMs, untilMs);",
      "await drain.run('timer');",
    ],
  ),
  seeded(
    'sweep-waits-for-drains',
    'A sweep ends when its drains have ended',
    'independence.spec.ts',
    [
      'sweeping/sweep.ts',
      'return { ...counts, drained };',
      'await drained;\n    return { ...counts, drained };',
    ],
  ),
  seeded(
    'stop-waits-for-backlog',
    'A stop waits until nothing is due any more',
    'independence.spec.ts',
    ['draining/drain.ts', 'while (!this.#isStopped && !round.failure', 'while (!round.failure'],
  ),
  seeded(
    'late-waits-for-a-batch',
    'What comes due while a handler takes its time over a batch waits for that batch',
    'host/host-drains.spec.ts',
    ['draining/drain.ts', 'if (round.isStuck) {', 'if (false) {'],
  ),
  seeded(
    'siblings-left-behind',
    'A round ends with its first failure, its other transactions going on behind its back',
    'independence.spec.ts',
    [
      'draining/drain.ts',
      'while (round.drainers.size > 0) await Promise.all(round.drainers.values());',
      'while (round.drainers.size > 0 && !round.failure) await Promise.race(round.drainers.values());',
    ],
  ),
  seeded(
    'giving-way-without-end',
    'The loan by which a backlog gives way to others is renewed with each claim',
    'draining/pace.spec.ts',
    ['draining/pace.ts', 'if (this.#isRoundKnown) return;', ''],
  ),
  seeded(
    'loan-renewed-by-rounds',
    'Each round is lent what its backlog has had already',
    'draining/pace.spec.ts',
    ['draining/pace.ts', 'oldestLagMs * yieldShare - this.#lentMs', 'oldestLagMs * yieldShare'],
  ),
  seeded(
    'courteous-for-ever',
    'A herd that goes on leaves customers a core for as long as it does',
    'draining/pace.spec.ts',
    [
      'draining/pace.ts',
      'this.#courteousForMs -= tookMs / plan.drainers',
      'this.#courteousForMs -= 0',
    ],
  ),
  seeded(
    'herd-takes-all-cores',
    'A herd that is due now leaves customers no core',
    'draining/pace.spec.ts',
    ['draining/pace.ts', 'isAnyoneThere ? Math.max(1, drainers - 1) : drainers', 'drainers'],
  ),
  seeded(
    'parts-at-the-pace-of-rings',
    "Rings begin their rounds in the middle of a sharded sweep's, and each part is a backlog",
    'draining/drain-parts.spec.ts',
    ['draining/drain.ts', 'if (shard.runId !== this.#runId) this.#shardBatch', 'this.#shardBatch'],
  ),
  seeded(
    'many-judgements',
    'Each batch that wants the brake to judge has a judgement of its own',
    'brake/brake-batches.spec.ts',
    ['brake/brake.ts', 'this.#judging ??= this.#judgeOnce()', 'this.#judging = this.#judgeOnce()'],
  ),
  seeded(
    'brake-fails-open',
    'A judgement that fails counts as passed',
    'brake/brake-batches.spec.ts',
    [
      'brake/brake.ts',
      'if (cause !== undefined) await this.#engageIfMany({ ...suspect, cause });',
      'this.#suspect = undefined;\n    this.jumps.accept();\n    if (cause !== undefined) await this.#engageIfMany({ ...suspect, cause });',
    ],
  ),
  seeded(
    'brake-not-asked-by-batches',
    'A drain under way looks no more whether something is wrong',
    'brake/brake-batches.spec.ts',
    [
      'draining/drain-batch.ts',
      "if (brake.wantsToJudge(entry.clockNow, askedMs)) return 'unjudged';",
      '',
    ],
  ),
  seeded(
    'brake-not-read-by-batches',
    'Whether the brake is on is what this process believes of it',
    'brake/brake-batches.spec.ts',
    ['draining/drain-batch.ts', "if (brake.isOnFor(entry)) return 'braked';", ''],
  ),
  seeded(
    'brake-forgets-restarts',
    'What was seen before this process began is not asked for',
    'brake/brake-batches.spec.ts',
    [
      'brake/brake.ts',
      'if (!this.jumps.knowsLast || this.#suspect) return true;',
      'if (this.#suspect) return true;',
    ],
  ),
  seeded(
    'handler-never-to-blame',
    'A handler that fails for all stops nothing',
    'draining/drain-handler-fault.spec.ts',
    ['draining/handler-health.ts', 'if (areMany || worn) this.stop(error);', ''],
    [
      'draining/handle-apart.ts',
      'if (this.options.isJudged && isForAll) throw',
      'if (this.options.isJudged && isForAll && this.total.succeeded > 0) throw',
    ],
  ),
  seeded(
    'second-drainer-waits-for-the-first',
    'A herd has one drainer until its first batch is committed',
    'draining/drain.spec.ts',
    [
      'draining/drain-batch.ts',
      'if (claimed.count === plan.limit && !plan.isApart) moreIsDue();',
      '',
    ],
  ),
  seeded(
    'follow-ups-never-to-blame',
    'What follows the commits of a kind fails for all, and stops nothing',
    'draining/drain-follow-ups.spec.ts',
    ['attempts.ts', 'judge?.failed(subjectId, error);', ''],
  ),
  seeded(
    'away-is-a-bug',
    'A server that does not answer what follows a commit speaks against the handler',
    'draining/drain-follow-ups.spec.ts',
    ['draining/follow-up-health.ts', 'if (saysNothing(error)) return;', ''],
  ),
  seeded(
    'follow-ups-mended-unseen',
    'What follows the commits works again, and the kind waits for somebody to ring',
    'draining/drain-follow-ups.spec.ts',
    [
      'draining/drain.ts',
      "this.standsStill ? this.#probeLater() : this.signal('timer', EVERYTHING_MS);",
      'void (this.standsStill && this.#probeLater());',
    ],
  ),
  seeded(
    'statements-are-compiled',
    'Postgres may compile each statement of ours anew, as its default has it',
    'host/connections.spec.ts',
    ['database/pool-options.ts', "  jit: 'off',", ''],
  ),
  seeded(
    'silence-is-no-end',
    'A Postgres that is gone without a goodbye is asked after once two hours have passed',
    'host/connections.spec.ts',
    [
      'database/pool-options.ts',
      'keepAlive: true, keepAliveInitialDelayMillis: 10_000',
      'keepAlive: true',
    ],
  ),
  seeded(
    'host-says-nothing-of-drainers',
    'As many drainers as ever, whatever the host says',
    'host/host-drains.spec.ts',
    [
      'host/open-runtime.ts',
      'const drain = { ...drainDefaults, drainers };',
      'const drain = drainDefaults;',
    ],
  ),
  seeded(
    'host-brake-stays-off',
    'A brake that a host has asked for stops nothing',
    'host/host-drains.spec.ts',
    [
      'host/host-brake.ts',
      'if (!brake) return { kinds: handled, share: null };',
      'return { kinds: brake?.kinds ?? [], share: null };',
    ],
  ),
  seeded(
    'no-probe-of-its-own',
    'A kind that stands still is tried again when somebody rings or sweeps, not before',
    'draining/drain-handler-fault.spec.ts',
    [
      'draining/drain.ts',
      '    this.#probeLater();\n    if (!asked.shard)',
      '    if (!asked.shard)',
    ],
  ),
  seeded(
    'held-while-all-fail',
    'A subject is held although nobody has succeeded since it began to fail',
    'draining/handler-health.spec.ts',
    [
      'draining/handler-health.ts',
      'return this.#succeededMs >= this.nowMs() - putOffMs;',
      'return putOffMs >= 0;',
    ],
  ),
  seeded(
    'whole-batch-blamed',
    'A batch that fails is made smaller and smaller instead of being handled in pieces',
    'draining/handle-apart.spec.ts',
    [
      'draining/handle-apart.ts',
      'const piece = this.#left.splice(-size);',
      'const piece = this.#left.splice(-1);',
    ],
  ),
  seeded(
    'held-row-stops-its-kind',
    'A row that somebody holds ends the round: its batch is never handled in pieces',
    'draining/drain-held-rows.spec.ts',
    [
      'draining/drain-aside.ts',
      'claimed.count > 0 ? isSubjectsFault(error)',
      'claimed.count > 0 && !(error instanceof RowHeldError) ? isSubjectsFault(error)',
    ],
  ),
  seeded(
    'locked-table-counts-against-subjects',
    'What waited for a locked table is tried one by one once that is free',
    'draining/drain-locked-table.spec.ts',
    [
      'draining/drain-aside.ts',
      'this.#apartFor = 0;\n      this.rates.forget();',
      'this.#apartFor = 0;',
    ],
  ),
  seeded(
    'any-server-is-the-database',
    'A server of one subject that is away is taken for a database that is away',
    'draining/drain-failures.spec.ts',
    ['draining/subject-failure.ts', 'return !isOfDatabase(error) || ', 'return '],
  ),
  seeded(
    'silent-handler-not-given-up',
    'A transaction whose handler is silent is left to it: what comes late meets whoever has the connection then',
    'draining/drain-silent-handler.spec.ts',
    ['database/stood-still.ts', 'withTimeLimit(tx.abandon(),', 'withTimeLimit(Promise.resolve(),'],
    ['database/transaction.ts', 'this.#hasEnded = true;', ''],
  ),
  seeded(
    'given-up-and-spinning',
    'A hook that is given up and tries again and again, whatever fails, stops the whole process',
    'database/stood-still.spec.ts',
    ['database/reject-in-turn.ts', 'await setImmediate();', ''],
  ),
  seeded(
    'unsent-and-committed',
    'A statement of TypeORM is not sent as its table is locked, and all others of its transaction are committed',
    'database/locked-statements.spec.ts',
    ['database/fenced-manager.ts', 'if (error instanceof StillLockedError) {', 'if (false) {'],
  ),
  seeded(
    'silent-handler-waited-for',
    'A handler that never answers stops its kind for good',
    'draining/drain-silent-handler.spec.ts',
    [
      'draining/handle-claimed.ts',
      'await Promise.race([answered, silent, this.#givenUp])',
      'await answered',
    ],
  ),
  seeded(
    'standstill-nobodys-fault',
    'A session that Postgres ends because a handler stands still is taken for a lost connection: its batch goes out again for ever',
    'draining/drain-silent-handler.spec.ts',
    ['database/transaction.ts', 'if (code === STOOD_STILL) heard(true);', ''],
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
      'if among(stored(batch), mark_of(KEYS[index])) then return 0 end',
      '',
    ],
  ),
  seeded('batches-overlap', 'Two batches hold the same order', 'locks/redlock.lock.spec.ts', [
    'locks/redlock-scripts.ts',
    'if meets(mine, other) then return 0 end',
    '',
  ]),
  seeded(
    'each-by-itself-ignores-batches',
    'Keys that are many and held each by itself are those of a batch as well',
    'locks/redlock-holds.spec.ts',
    ['locks/redlock-scripts.ts', 'if meets(ARGV[4], batch) then return 0 end', ''],
  ),
  seeded(
    'marks-by-one-byte',
    'The marks of a batch are found by their last byte, which is the same in all of some UUIDs',
    'locks/marks.spec.ts',
    ['locks/marks.ts', 'let one = at; one < at + MARK', 'let one = at + MARK - 1; one < at + MARK'],
  ),
  seeded(
    'batches-do-not-meet-at-their-ends',
    'Two batches that have but the last of one and the first of the other in common are both held',
    'locks/redlock.lock.spec.ts',
    [
      'locks/redlock-scripts.ts',
      'if less(greatest, others_least)',
      'if not less(others_least, greatest)',
    ],
  ),
  seeded(
    'batch-ignores-payments',
    'A batch takes the lock of an order that is being paid',
    'locks/redlock.lock.spec.ts',
    ['locks/redlock-scripts.ts', 'if among(packed(mine), mark_of(single)) then return 0 end', ''],
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
    'draining/lock-batch.spec.ts',
    [
      'draining/lock-batch.ts',
      'Math.max(CONTENDED_RETRY_FIRST_MS, busyForMs)',
      'CONTENDED_RETRY_FIRST_MS',
    ],
  ),
  seeded(
    'turns-for-everybody',
    'Any number of processes drain at once',
    'draining/drain-turns.spec.ts',
    [
      'draining/batch-entry.ts',
      "WHERE pg_try_advisory_xact_lock(${keyOfTurns('$1')}, turn) LIMIT 1",
      "WHERE $1 <> '' LIMIT 1",
    ],
  ),
  seeded(
    'waiting-costs-nothing',
    'Who leaves others all turns but one waits for that one as long as somebody has it',
    'draining/drain-turns.spec.ts',
    [
      'draining/pace.ts',
      'if (plan.drainers < this.options.drainers) this.#pay({ ...plan, restMs: 0 }, waitedMs);',
      '',
    ],
  ),
  seeded(
    'hanging-turns-stay-taken',
    'A kind stands still where sessions that hang have all its turns',
    'draining/drain-turns.spec.ts',
    [
      'draining/drain-batch.ts',
      'plan.drainers + this.#hanging.beside(this.own.drainers)',
      'plan.drainers',
    ],
  ),
  seeded(
    'rings-wait-for-who-hangs',
    'What rings while all batches of a process hang waits for them',
    'draining/drain-turns.spec.ts',
    [
      'draining/drain.ts',
      'if (!round || !asked || this.#isStopped) return;',
      'if (round || asked) return;',
    ],
  ),
  seeded(
    'silent-disk-takes-sessions',
    'Where all sessions hang, there are turns for more and more of them',
    'draining/hanging-turns.spec.ts',
    ['draining/hanging-turns.ts', 'Math.min(this.#hanging, turns)', 'this.#hanging'],
  ),
  seeded(
    'full-postgres-ends-a-start',
    'A start ends where others have all connections of Postgres',
    'database/once-back.spec.ts',
    [
      'database/once-back.ts',
      'wasThere ||= isFull || isSessionEnded(error);',
      'wasThere ||= isSessionEnded(error);',
    ],
  ),
  seeded(
    'claims-from-the-beginning',
    'Claims read all that is gone again, as long as an old snapshot keeps it',
    'deadlines/low-water.spec.ts',
    ['deadlines/low-water.ts', 'const look = { fromMs: this.#fromMs,', 'const look = { fromMs: 0,'],
  ),
  seeded(
    'far-until-the-next-sweep',
    'What is due in hours is brought near by sweeps alone, however seldom these are',
    'timeout-run.spec.ts',
    ['timeout-run.ts', 'sweep.armIfDue(nowMs);', ''],
  ),
  seeded(
    'spins-by-what-is-held',
    'A worker looks a thousand times a second at an alarm that somebody holds',
    'drivers/ring-loop.spec.ts',
    ['drivers/ring-loop.ts', 'Math.min(inVainMs * 2, LONGEST_IN_VAIN_MS)', 'FIRST_IN_VAIN_MS'],
  ),
  seeded(
    'late-commits-forgotten',
    'Who looks for what is missed looks a few seconds back, whatever transaction is open',
    'deadlines/late-commits.spec.ts',
    ['deadlines/late-commits.ts', 'next <= seen.oldestOpen', 'next <= seen.next'],
  ),
  seeded(
    'judged-by-the-named',
    'A handler is taken for broken by those that errors name, before any other has had its turn',
    'draining/handle-apart.spec.ts',
    [
      'draining/handle-apart.ts',
      'return this.total.succeeded > 0 ?',
      'return this.total.succeeded >= 0 ?',
    ],
  ),
  seeded(
    'far-among-the-near',
    'What is due in weeks waits where claims look',
    'deadlines/far-deadlines.spec.ts',
    [
      'deadlines/far-deadlines.ts',
      "return `(${dueAt}) > now() + interval '1 hour'`;",
      'return `(${dueAt}) IS NULL`;',
    ],
  ),
  seeded(
    'deleted-by-place-alone',
    'A claim deletes by ctid, which names a row in one partition only',
    'deadlines/far-deadlines.spec.ts',
    [
      'draining/claim-due.ts',
      '(SELECT place FROM picked)) AND ${IS_PICKED}\n    RETURNING subject_id',
      '(SELECT place FROM picked))\n    RETURNING subject_id',
    ],
  ),
  seeded(
    'unknown-kinds-stop-the-boot',
    'Deadlines of a kind that another version knows stop this one',
    'timeout.service.spec.ts',
    [
      'timeout.service.ts',
      'if (unknown.length > 0) this.parts.telemetry.unknownKinds(unknown);',
      'if (unknown.length > 0) throw new UnhandledDeadlineError(unknown);',
    ],
  ),
  seeded(
    'late-siblings-sent',
    'What a handler that has failed still sends is done in the next piece of its batch',
    'draining/drain-failures.spec.ts',
    ['database/transaction.ts', 'this.#hasEnded = true;', ''],
  ),
  seeded(
    'manager-unfenced',
    'A statement that TypeORM is about to send when its attempt fails is done in what follows',
    'database/transaction.spec.ts',
    ['database/fenced-manager.ts', 'assertMay(text);', 'void assertMay;'],
  ),
  seeded(
    'standby-kept',
    'A connection that refuses to write after a failover stays in the pool',
    'database/transaction-lost.spec.ts',
    ['database/send-statement.ts', 'isOver || state === READ_ONLY', 'isOver'],
  ),
  seeded(
    'ended-session-kept',
    'A connection whose session Postgres has ended is given to the next one',
    'database/transaction-lost.spec.ts',
    [
      'database/in-transaction.ts',
      '.catch(() => discardConnection(runner))',
      '.catch(() => undefined)',
    ],
  ),
  seeded(
    'patience-anew',
    'Who has waited for a lock for seconds waits for the next one for as long again',
    'database/in-transaction.spec.ts',
    ['database/in-transaction.ts', 'sinceMs = performance.now(),', ''],
    [
      'database/in-transaction.ts',
      'const left = ()',
      'const sinceMs = performance.now();\n  const left = ()',
    ],
  ),
  seeded(
    'one-version-for-a-claim',
    'What the deadlines of a claim have in common is taken for all, where it is not common',
    'deadlines/deadlines.spec.ts',
    ['draining/claim-due.ts', "'version < last_version'", "'false'"],
  ),
  seeded(
    'all-wait-for-locked',
    'Each who needs a table that is known to be locked waits for it, with a connection',
    'database/locked-statements.spec.ts',
    [
      'database/locked-statements.ts',
      'if (known && !this.#mayTry(text, known)) throw',
      'if (!this) throw',
    ],
  ),
  seeded(
    'locked-for-ever',
    'What waited for a table that is free again waits for as long as others try one that is not',
    'database/locked-statements.spec.ts',
    ['database/locked-statements.ts', 'return isOld && !this', 'return !isOld && !this'],
  ),
  seeded(
    'row-queue-taken-for-a-table',
    'Who waits for a row behind others is told of a locked table, and strangers are refused',
    'database/locked-statements.spec.ts',
    ['database/row-waits.ts', 'if (!(await asked)) waited', 'if (!(await asked) && !error) waited'],
  ),
  seeded(
    'held-up-apart',
    'A batch that another one of its kind holds up puts its subjects aside',
    'draining/drain-held-rows.spec.ts',
    ['draining/held-up-batches.ts', 'areOthersUnderWay && mayTry', 'areOthersUnderWay && !mayTry'],
  ),
  seeded(
    'never-begins-to-ring',
    'A worker does not start its driver: what is due is found late, by looks for what was missed',
    'timeout-run.spec.ts',
    ['timeout-run.ts', '    await this.timeouts.start();\n', ''],
  ),
  seeded(
    'alone-without-end',
    'Batches that others hold up one after the other are tried as a whole again and again, and none of theirs is handled',
    'draining/held-up-batches.spec.ts',
    ['draining/held-up-batches.ts', 'this.#inARow < MOST_TRIES', 'this.#inARow >= 0'],
  ),
  seeded(
    'held-at-its-commit',
    'A deadline that somebody holds as it is committed, alone, is claimed and not put back: it is gone',
    'draining/drain-aside.spec.ts',
    ['draining/drain-aside.ts', 'isHeld ? { locked: [one] }', 'isHeld ? {}'],
  ),
  seeded(
    'commit-unchecked',
    'Whom a deferred constraint refuses is looked for by whole transactions, of ever fewer subjects',
    'draining/drain-late-failures.spec.ts',
    ['draining/handle-claimed.ts', 'if (isChecked) await part.rows(CHECK_AS_THE_COMMIT);', ''],
  ),
  seeded(
    'turn-without-end',
    'Where thousands of rows are held, each waits for the looks at all others',
    'draining/suspects.spec.ts',
    ['draining/suspects.ts', 'Math.min(LONGEST_TURN_MS, allMs)', 'allMs'],
  ),
  seeded(
    'in-database-0-instead',
    'Where Redis does not have the database that is named, all goes into its first one',
    'redis/redis-database.spec.ts',
    ['redis/redis.ts', "|| error.command?.name === 'select'", ''],
  ),
];

module.exports = { SPEC_MUTATIONS, seeded };
