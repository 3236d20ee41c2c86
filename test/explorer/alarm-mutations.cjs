// Seeded bugs of alarms, their stores and the clocks they go by, that a test of their mechanism has to find;
// see mutations.cjs.

const { seeded } = require('./spec-mutations.cjs');

const ALARM_MUTATIONS = [
  seeded(
    'intervals-by-the-wall-clock',
    'When the next sweep is due depends on a clock that may be set',
    'sweeping/sweep.spec.ts',
    ['sweeping/sweep.ts', 'this.#lastRunAtMs = startedMs;', 'this.#lastRunAtMs = Date.now();'],
  ),
  seeded(
    'estimate-by-the-wall-clock',
    "The database's time is reckoned from a clock that may be set",
    'database/database-clock.spec.ts',
    [
      'database/database-clock.ts',
      'private readonly local: Clock = monotonicClock',
      'private readonly local: Clock = systemClock',
    ],
  ),
  seeded(
    'queueing-taken-for-the-round-trip',
    "A slow answer about the database's time is believed like a quick one",
    'database/database-clock.spec.ts',
    [
      'database/database-clock.ts',
      'this.#offsetMs === undefined || isGood',
      'this.#offsetMs === undefined || isGood || true',
    ],
  ),
  seeded(
    'begun-slot-armed-once',
    'A slot that has begun is not armed again, although its alarm may have rung before this commit',
    'alarms/alarms.spec.ts',
    [
      'alarms/alarms.ts',
      'if (isBegun || !this.#cover.isArmed(atMs))',
      'if (!this.#cover.isArmed(atMs))',
    ],
  ),
  seeded(
    'forgetting-is-overwritten',
    'What was armed while trust was lost is trusted',
    'alarms/alarms.spec.ts',
    ['alarms/alarms.ts', 'if (epoch !== this.#epoch) return armed;', ''],
    ['alarms/alarms.ts', 'epoch !== this.#epoch) return;', 'epoch < 0) return;'],
  ),
  seeded(
    'arming-by-the-machines-clock',
    'A process whose clock is behind takes what is near for far, and arms nothing',
    'alarms/alarms.spec.ts',
    ['alarms/alarms.ts', 'await this.clock.freshen().catch(() => undefined);', ''],
  ),
  seeded(
    'slots-pruned-by-sweeps-only',
    'A process that only arms remembers every slot it ever armed',
    'alarms/alarms.spec.ts',
    ['alarms/alarms.ts', 'this.#prune(this.clock.nowMs());', ''],
  ),
  seeded(
    'never-well-again',
    'A process that only arms never finds the store well again',
    'alarms/alarms.spec.ts',
    [
      'alarms/alarms.ts',
      'if (armed > 0 && this.options.rings === false) this.health.become(true);',
      '',
    ],
  ),
  seeded(
    'past-never-armed',
    'What is due long before its commit, in a process that only arms, waits for a sweep of somebody else',
    'alarms/alarms.spec.ts',
    ['alarms/alarms.ts', 'return oldest ? [oldest, ...near] : near;', 'return near;'],
  ),
  seeded(
    'silent-store-waited-for',
    'A timer store that does not answer one call is waited for for good, and nothing far is brought near',
    'silent-store.spec.ts',
    [
      'alarms/answered-calls.ts',
      "withTimeLimit(asked, ANSWERS_WITHIN_MS, 'The timer store did not answer')",
      'asked',
    ],
  ),
  seeded(
    'silent-store-offered-all-again',
    'A timer store that is silent is offered a page of alarms again every quarter of a minute, all of which its driver keeps',
    'silent-store.spec.ts',
    ['alarms/answered-calls.ts', 'this.#isSilent ? 1 : 0', '0'],
  ),
  seeded(
    'taken-pages-offered-again',
    'A timer store that refuses one page of alarms is offered those that it has taken again',
    'silent-store.spec.ts',
    ['alarms/alarms.ts', 'return alarms.slice(armed);', 'return alarms;'],
  ),
  seeded(
    'overdue-brought-near-unseen',
    'What has been overdue for hours waits for the next sweep where it is brought near after one has looked',
    'timeout-run.spec.ts',
    [
      'sweeping/sweep.ts',
      'if (this.parts.alarms.takeBroughtOverdue()) this.#lastRunAtMs = -Infinity;',
      '',
    ],
  ),
  seeded(
    'overdue-of-the-killed-unseen',
    'What has been overdue for hours waits for the next sweep where whoever brought it near was killed',
    'timeout-run.spec.ts',
    ['deadlines/late-commits.ts', 'if (this.#isAll) return EVERYTHING_MS;', ''],
  ),
  seeded(
    'released-until-the-next-sweep',
    'Timeouts that an operator has released go on with the next sweep, hours later',
    'timeout-run.spec.ts',
    [
      'timeout-run.ts',
      'if (!sweep.isDue(nowMs) && !(await brake.isReleased()))',
      'if (!sweep.isDue(nowMs))',
    ],
  ),
  seeded(
    'old-run-never-ends',
    'A sweep by shards that is over for its age waits for its shards for good',
    'shards/sharded-sweep.spec.ts',
    ['shards/sharded-sweep.ts', 'await this.#shards.endOld(runId);', ''],
  ),
  seeded(
    'halted-shards-waited-for',
    'A sweep by shards waits ten seconds for each shard of a kind that has stopped itself',
    'shards/sharded-sweep.spec.ts',
    ['shards/sharded-sweep.ts', 'left === 0 || drain.isHalted || ', 'left === 0 || '],
  ),
  seeded(
    'armed-for-nobody',
    'A process that does not ring arms alarms that nobody else would ring',
    'alarms/alarms.spec.ts',
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
    'put-back-without-alarm',
    'A deadline that a batch puts back has no alarm',
    'draining/drain.spec.ts',
    [
      'draining/drain-batch.ts',
      'this.#aside.armAgain([...left.back, ...left.also], shard);\n          addCounts(total, counts);\n          this.#tell',
      'addCounts(total, counts);\n          this.#tell',
    ],
  ),
  seeded(
    'jump-not-noticed',
    'A clock that somebody has set an hour ahead closes what is due by it',
    'brake/brake.spec.ts',
    [
      'brake/clock-jumps.ts',
      'if (leastMs - knownMs > JUMP_MS) {',
      'if (leastMs - knownMs > Infinity) {',
    ],
  ),
  seeded(
    'jump-of-long-ago',
    'Who reads a late order weeks after the clock was set right stops timeouts for that',
    'brake/brake.spec.ts',
    [
      'brake/clock-jumps.ts',
      'return this.#jumpedToMs - remembered.aheadMs <= JUMP_MS;',
      'return false;',
    ],
  ),
  seeded(
    'one-clock-for-all-brakes',
    "A jump of the clock that a host's brake has let pass is none for the orders on the same machine",
    'brake/brakes-apart.spec.ts',
    ['brake/clock-jumps.ts', ', ...kinds.toSorted()]', ', ...kinds.slice(0, 0)]'],
  ),
  seeded(
    'one-brake-for-all',
    "A host's brake, for kinds of its own, stops the orders in the same schema",
    'brake/brakes-apart.spec.ts',
    ['brake/brake-table.ts', 'AND kind = ANY (${kinds})`;', 'AND ${kinds}::text[] IS NOT NULL`;'],
  ),
  seeded(
    'confirmed-for-all',
    "Whoever has looked at a host's brake has the orders judged no more",
    'brake/brakes-apart.spec.ts',
    ['brake/brake-table.ts', ' AND b.kind = ANY ($1))', ')'],
  ),
  seeded(
    'confirmed-for-the-next-jump',
    'Within 15 minutes of an operator who lets timeouts go on, another jump of the clock closes everything',
    'brake/brake-batches.spec.ts',
    ['brake/brake.ts', 'cause === CLOCK_JUMPED ? this.jumps.lastSeen : null', 'null'],
  ),
  seeded(
    'over-and-still-stopped',
    'Timeouts that a provider has stopped wait for an operator, also once it answers',
    'brake/brake-ends.spec.ts',
    [
      'brake/brake.ts',
      'if (cause === CLOCK_JUMPED || !this.options.isOver?.(cause, forMs)) return false;',
      'return false;',
    ],
  ),
  seeded(
    'jumps-end-by-themselves',
    'Timeouts that a jump of the clock has stopped go on once a provider answers',
    'brake/brake-ends.spec.ts',
    ['brake/brake.ts', 'if (cause === CLOCK_JUMPED || !this.options', 'if (!this.options'],
  ),
  seeded(
    'jump-behind-a-suspicion',
    'A clock that jumps while timeouts have stopped for a provider is forgotten as that answers',
    'brake/brake-ends.spec.ts',
    ['brake/brake-table.ts', 'if (cause === CLOCK_JUMPED) await giveUpPlace(tx, kinds);', ''],
  ),
  seeded(
    'judged-by-what-is-over',
    'A suspicion that ended while Postgres was away stops timeouts as that is back',
    'brake/brake-ends.spec.ts',
    [
      'brake/brake.ts',
      'if (cause !== CLOCK_JUMPED) return this.options.suspicion?.();',
      'if (cause !== CLOCK_JUMPED) return cause;',
    ],
  ),
  seeded(
    'jump-known-by-another-judgement',
    'A clock that jumps while a provider is judged has not jumped once that is over',
    'brake/brake-ends.spec.ts',
    [
      'brake/brake.ts',
      'if (this.#doubtsClock(now, askedMs)) return true;\n    return !on',
      'if (this.jumps.hasJumped(now, askedMs)) return true;\n    return !on',
    ],
  ),
  seeded(
    'readers-ask-each-other-again',
    'Of many customers who look at overdue orders while timeouts have stopped, each has all others asked anew',
    'brake/brake-ends.spec.ts',
    [
      'brake/brake.ts',
      'if (this.#engaged?.id === on.id) return;',
      'if (this.#engaged?.id === on.id) return void (this.#timesEngaged += 1);',
    ],
  ),
  seeded(
    'judged-while-it-is-on',
    'Whoever reads an overdue order counts all that is due, four times a second, while timeouts have stopped already',
    'brake/brake-ends.spec.ts',
    [
      'brake/brake.ts',
      'const isSuspect = on ? this.#doubtsClock(now, askedMs) : ',
      'const isSuspect = ',
    ],
  ),
  seeded(
    'over-by-a-jump',
    'A clock that jumps lets timeouts go on by what a provider has answered before they stopped',
    'brake/brake-ends.spec.ts',
    ['brake/brake.ts', 'Math.min(onForMs, this.uptimeMs() - this.#jumpedMs)', 'onForMs'],
  ),
  seeded(
    'over-at-once',
    'What was seen before timeouts stopped lets them go on',
    'brake/brake-ends.spec.ts',
    ['brake/brake-table.ts', ' AND engaged_at <= now() - ${ON_FOR}', ''],
  ),
  seeded(
    'over-is-confirmed',
    'Timeouts that went on by themselves are stopped by nothing for a quarter of an hour',
    'brake/brake-ends.spec.ts',
    [
      'brake/brake-table.ts',
      'AND released_by <> $3 AND b.kind',
      'AND $3::text IS NOT NULL AND b.kind',
    ],
  ),
  seeded(
    'stop-blames-the-store',
    'What was late because timeouts stood still is blamed on alarms that did not ring',
    'sweeping/sweep.spec.ts',
    [
      'sweeping/sweep.ts',
      'lagMs < Math.min(upMs, this.parts.brake.freeForMs(kind));',
      'lagMs < upMs && kind !== undefined;',
    ],
  ),
  seeded(
    'sweep-waits-for-arming',
    'A worker whose store takes long to arm has no heartbeat meanwhile',
    'sweeping/sweep.spec.ts',
    [
      'sweeping/sweep.ts',
      "withTimeLimit(this.#arming.arm(), armingLimitMs, 'Not armed')",
      'this.#arming.arm()',
    ],
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
    'brake/brake-batches.spec.ts',
    ['brake/clock-jumps.ts', 'Math.min(mostMs, Math.max(leastMs, knownMs))', 'leastMs'],
  ),
  seeded(
    'rung-alarms-by-the-index-of-instants',
    'Alarms are found by their ids among all that an old snapshot keeps of their queue',
    'drivers/postgres/postgres.driver.spec.ts',
    [
      'drivers/postgres/alarm-table.ts',
      'WHERE queue = $1 AND alarms.id = wanted.id',
      "WHERE queue || '' = $1 AND alarms.id = wanted.id",
    ],
  ),
  seeded(
    'strange-message-comes-again',
    "What is no alarm comes back to RocketMQ's workers each minute",
    'drivers/rocketmq/rocketmq.driver.spec.ts',
    [
      'drivers/rocketmq/rocketmq.driver.ts',
      'this.acknowledge(delivery);\n    this.onError',
      'this.onError',
    ],
  ),
  seeded(
    'deaf-after-a-look',
    'A worker that loses its broker while it asks RocketMQ where the topic is hears nothing any more',
    'drivers/rocketmq/rocketmq-consumer.spec.ts',
    [
      'drivers/rocketmq/rocketmq-consumer.ts',
      '() => round === this.#round && this.#lookLater()',
      '() => this.#lookLater()',
    ],
  ),
];

module.exports = { ALARM_MUTATIONS };
