import { type Asked, claimsAllThatIsDue } from './asked';
import type { Claimant, DeadlineHandler } from '../deadlines/deadline-handler';
import { DrainBatch } from './drain-batch';
import type { DrainOptions } from './drain-options';
import type { DrainCounts } from './drain-counts';
import type { DrainParts, ShardWork } from './drain-parts';
import type { Standstill } from './handler-health';
import { KindHealth } from './kind-health';
import { LateCommits } from '../deadlines/late-commits';
import { EVERYTHING_MS, LowWater } from '../deadlines/low-water';
import { Pace } from './pace';
import { pause } from '../pause';
import { Round, STUCK_AFTER_MS } from './round';
import { SlotWatch } from './slot-watch';

/** A drainer without a turn asks again: soon, for most are given back soon, then less often. */
const TURN_RETRY_FIRST_MS = 10;
const TURN_RETRY_MAX_MS = 80;

/**
 * Empties one kind's due deadlines, batch after batch, and waits for no other kind. One round at
 * a time in a process: rings that arrive meanwhile share the one under way plus one more. The
 * drainers of all processes share a limited number of turns, each batch needs one.
 */
export class Drain {
  #current: Promise<DrainCounts> | undefined;
  /** The one that {@link #current} is of. */
  #underWay: Round | undefined;
  #next: Promise<DrainCounts> | undefined;
  /** Rounds of shards: beside each other, and beside the one of everything. */
  readonly #shards = new Set<Promise<unknown>>();
  /** What the next round was asked for. */
  #nextAsked: Asked | undefined;
  /** Where claims begin to look; whoever arms a deadline before it lowers it. */
  readonly lowWater = new LowWater();
  readonly lateCommits = new LateCommits();
  readonly #health: KindHealth;
  readonly #batch: DrainBatch;
  /** With a pace of its own: a sharded sweep's backlog lasts while rings end their rounds beside it. */
  readonly #shardBatch: DrainBatch;
  /** The sweep whose shards came last. */
  #runId: string | undefined;
  readonly #bursting = new Set<Round>();
  readonly #watch: SlotWatch;
  #probe: NodeJS.Timeout | undefined;
  #beside: NodeJS.Timeout | undefined;
  #isStopped = false;
  #hasFailed = false;
  #isHalted = false;

  constructor(
    readonly kind: string,
    handler: DeadlineHandler,
    private readonly parts: DrainParts,
    options: DrainOptions,
  ) {
    const goOn = (): void =>
      this.standsStill ? this.#probeLater() : this.signal('timer', EVERYTHING_MS);
    const health = (this.#health = new KindHealth(kind, parts.telemetry, goOn));
    const pace = () => new Pace(handler.maxBatch, options, parts.othersWaitMs);
    const watch = (this.#watch = new SlotWatch(
      () => this.#startInBackground('timer'),
      parts.clock,
      this.lowWater,
    ));
    const own = { ...options, health, lowWater: this.lowWater, watch };
    this.#batch = new DrainBatch(kind, handler, parts, { ...own, pace: pace() });
    this.#shardBatch = new DrainBatch(kind, handler, parts, { ...own, pace: pace() });
  }

  /**
   * Handles what is due, in the background: what fails is told, and comes back with the next
   * signal. `sinceMs`: what asks for it is not due earlier. Until `untilMs` it goes on with whatever
   * comes due. Both by the database's clock, in milliseconds since the epoch.
   */
  signal(by: Claimant, sinceMs: number, untilMs?: number): void {
    this.lowWater.lower(sinceMs);
    if (untilMs !== undefined) this.#watch.extend(untilMs);
    this.#startInBackground(by);
  }

  /**
   * Handles what has been due for `overdueByMs`; resolves when nothing is left. `sinceMs`: as above.
   */
  run(by: Claimant, overdueByMs = 0, sinceMs = EVERYTHING_MS): Promise<DrainCounts> {
    this.lowWater.lower(sinceMs);
    return this.#start(by, overdueByMs);
  }

  #startInBackground(by: Claimant): void {
    this.#start(by, 0).catch((error: unknown) =>
      this.parts.telemetry.failed(`drain ${this.kind}`, error),
    );
  }

  /** While the kind stands still, what rings is refused: it is found by the probe that follows. */
  #probeLater(): void {
    const inMs = this.#health.probesInMs;
    if (inMs === undefined || this.#isStopped || this.#probe) return;
    this.#probe = setTimeout(() => {
      this.#probe = undefined;
      if (this.standsStill) this.signal('timer', EVERYTHING_MS);
    }, Math.ceil(inMs)).unref();
  }

  #start(by: Claimant, overdueByMs: number): Promise<DrainCounts> {
    if (!this.#current) return this.#begin({ by, overdueByMs });
    // The round under way may have looked already, so what rang now needs another one. Of those
    // who share it, the one who asked for the least overdue decides: a ring must not wait behind a
    // sweep that leaves fresh deadlines to the rings.
    if (!this.#nextAsked || overdueByMs < this.#nextAsked.overdueByMs) {
      this.#nextAsked = { by, overdueByMs };
    }
    this.#goBeside();
    this.#next ??= this.#current.then(
      () => this.#follow(),
      () => this.#follow(),
    );
    return this.#next;
  }

  /** The round under way cannot be waited for where the session of one of its batches hangs, or a handler takes its time. */
  #goBeside(): void {
    const [round, asked] = [this.#underWay, this.#nextAsked];
    if (!round || !asked || this.#isStopped) return;
    if (round.isStuck) {
      if (asked.overdueByMs < round.asked.overdueByMs) round.asked = asked;
      this.#sendMore(round);
    }
    this.#beside ??= setTimeout(() => {
      this.#beside = undefined;
      this.#goBeside();
    }, STUCK_AFTER_MS).unref();
  }

  /** Handles what is due of a shard, for a sweep; resolves when there is no more of it to be had. */
  async runShard(shard: ShardWork): Promise<DrainCounts> {
    if (shard.runId !== this.#runId) this.#shardBatch.pace.caughtUp();
    this.#runId = shard.runId;
    const round = this.#round({ by: 'sweep', overdueByMs: 0, shard });
    this.#shards.add(round);
    return round.finally(() => this.#shards.delete(round));
  }

  /** No batch begins from now on; the one under way ends. */
  stop(): void {
    this.#isStopped = true;
    const slotEndMs = this.#watch.stop();
    if (slotEndMs !== undefined) this.parts.alarms.ringAgain(slotEndMs);
    clearTimeout(this.#probe);
    clearTimeout(this.#beside);
  }

  /** True while more is due than one batch takes. */
  get isBursting(): boolean {
    return this.#bursting.size > 0;
  }

  /** True while batch follows batch: what is due is about to be claimed, if there is a turn to be had. */
  get isClaiming(): boolean {
    return [...this.#bursting].some(({ isDone }) => !isDone);
  }

  /** True while the handler, or what follows its commits, fails for all: only probes are made. */
  get standsStill(): boolean {
    return this.#health.isStopped;
  }

  /** Why, and for how long; undefined while the kind goes on. */
  get standstill(): Standstill | undefined {
    return this.#health.standstill;
  }

  /** True where the round that has ended last did so with an error, as where a table is locked. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** True where the last batch touched nothing, as the kind stands still or the brake is on. */
  get isHalted(): boolean {
    return this.#isHalted;
  }

  /** Waits for the drain under way and for what follows its commits; errors are its caller's. */
  async idle(): Promise<void> {
    const followUps = [this.#batch.followUps, this.#shardBatch.followUps];
    while (this.#current || this.#shards.size > 0 || followUps.some((one) => one.areUnderWay)) {
      const rounds = [this.#current, this.#next, ...this.#shards];
      await Promise.allSettled([...rounds, ...followUps.map((one) => one.ended())]);
    }
  }

  #follow(): Promise<DrainCounts> {
    const asked = this.#nextAsked as Asked;
    this.#next = this.#nextAsked = undefined;
    return this.#begin(asked);
  }

  #begin(asked: Asked): Promise<DrainCounts> {
    return (this.#current = this.#round(asked, () => void (this.#current = undefined)));
  }

  async #round(asked: Asked, ended = (): void => undefined): Promise<DrainCounts> {
    const batch = asked.shard ? this.#shardBatch : this.#batch;
    const round = new Round(batch, asked);
    const { total } = round;
    if (!asked.shard) this.#underWay = round;
    batch.pace.roundBegins();
    if (claimsAllThatIsDue(asked)) this.#watch.roundBegins();
    this.#send(round, 0);
    // All of them, whatever becomes of one: nobody's transaction goes on behind the round's back.
    while (round.drainers.size > 0) await Promise.all(round.drainers.values());
    if (!asked.shard) this.#underWay = undefined;
    await batch.released();
    this.#bursting.delete(round);
    this.#probeLater();
    if (!asked.shard) this.#watch.roundEnded(total.found);
    ended();
    this.#hasFailed = round.failure !== undefined;
    if (round.failure) throw round.failure.error;
    // A shard is done while others of its sweep are not.
    if (round.isDone && !asked.shard) batch.pace.caughtUp();
    return total;
  }

  #send(round: Round, place: number): void {
    const { further } = this.parts;
    if (place > 0 && !further.take()) return;
    const drainer = this.#empty(round, place)
      .catch((error: unknown) => void (round.failure ??= { error }))
      .finally(() => {
        if (place > 0) further.giveBack();
        round.drainers.delete(place);
      });
    round.drainers.set(place, drainer);
  }

  /** One drainer's work. The first place asks for a turn until it gets one, the others go home unless some hang. */
  async #empty(round: Round, place: number): Promise<void> {
    let retryMs = TURN_RETRY_FIRST_MS;
    const moreIsDue = (): void => this.#sendMore(round);
    while (!this.#isStopped && !round.failure && round.has(place)) {
      const beganMs = performance.now();
      const outcome = await round.handle(place, moreIsDue);
      switch (outcome) {
        case 'more':
          this.#bursting.add(round);
          retryMs = TURN_RETRY_FIRST_MS;
          moreIsDue();
          break;
        case 'no turn':
          if (!(await this.#waits(round, place))) return;
          await pause(retryMs * (0.5 + Math.random()));
          retryMs = Math.min(TURN_RETRY_MAX_MS, 2 * retryMs);
          round.batch.pace.waited(performance.now() - beganMs);
          break;
        case 'unjudged':
          await this.parts.brake.judge();
          break;
        case 'all':
        case 'braked':
        case 'stopped':
          round.isDone = outcome === 'all';
          this.#isHalted = !round.isDone;
          return;
      }
    }
  }

  /** Without a turn: the first place waits for one; so does the first behind those that are stuck, where turns hang. */
  async #waits(round: Round, place: number): Promise<boolean> {
    const doSomeHang = await round.batch.areTurnsTaken();
    return place === 0 || (doSomeHang && round.isFirst(place));
  }

  /** More is due than a batch takes, or a batch takes its time: every place is filled. */
  #sendMore(round: Round): void {
    for (let place = 0; place < round.places; place++) {
      if (!round.drainers.has(place)) this.#send(round, place);
    }
  }
}
