import { Alarms } from './alarms/alarms';
import { Backfill } from './alarms/backfill';
import { Brake } from './brake/brake';
import type { Claimant, Deadline, DeadlineHandler } from './deadlines/deadline-handler';
import { findAlarm } from './alarms/find-alarm';
import { FurtherDrainers } from './draining/further-drainers';
import { insertDeadlines, waitingKinds } from './deadlines/deadlines';
import { Drain } from './draining/drain';
import { DriverStart } from './alarms/driver-start';
import { drainDefaults } from './draining/drain-options';
import {
  AmbiguousDeadlineHandlerError,
  UndeclaredDeadlineError,
  UnhandledDeadlineError,
} from './errors';
import { EVERYTHING_MS } from './deadlines/low-water';
import { ShardedSweep } from './shards/sharded-sweep';
import { Sweep, type SweepCounts, type SweepParts } from './sweeping/sweep';
import { nobodysContext } from './nobodys-context';
import { onceFree } from './database/once-free';
import { OthersWait } from './draining/others-wait';
import { withTimeLimit } from './time-limit';
import type { Alarm, OnRing, RingAnswer } from './timer-driver';
import type { TimeoutOptions, TimeoutParts } from './timeout-options';
import { TimerStoreHealth } from './alarms/timer-store-health';
import { TimerAbilityError, unseenAlarms } from './timer-limits';
import type { Transaction } from './database/transaction';
import { slotMsOf } from './slots';
import { type StoppedKind, stoppedKinds } from './draining/stopped-kinds';
import { VerifyAlarms } from './alarms/verify-alarms';

/** Below what a process gets to end in (docs/operations.md). */
const STOP_LIMIT_MS = 10_000;
/** Longer than a driver may take over a page of alarms; one of a host's own may never answer. */
const ARMED_LIMIT_MS = 3_000;
/** Longer than a lock takes to leave its store. */
const CLOSED_LIMIT_MS = 3_000;
/** What rings in a process that ends rings again so much later, for another one. */
const FOR_OTHERS_MS = 100;
/** What was made due just now was made so by a transaction that is not older. */
const JUST_NOW_MS = 5_000;

/**
 * Deadlines for any subject: `arm` inside your transaction, and the handler of the kind is called
 * with batches of what is due. Postgres knows what is due, the timer driver only when to look.
 */
export class TimeoutService {
  readonly alarms: Alarms;
  readonly sweep: Sweep;
  readonly shardedSweep: ShardedSweep;
  readonly backfill: Backfill;
  readonly verifyAlarms: VerifyAlarms;
  readonly brake: Brake;
  #isStopping = false;
  readonly #drains = new Map<string, Drain>();
  readonly #driverStart: DriverStart;
  readonly #further: FurtherDrainers;
  readonly #othersWait: OthersWait | undefined;

  constructor(
    private readonly parts: TimeoutParts,
    private readonly options: TimeoutOptions,
  ) {
    const { driver, dataSource, drainDataSource, clock, telemetry } = parts;
    const { kinds, granularity, horizonMs } = options;
    const health = new TimerStoreHealth(telemetry);
    const { ring: rings = true } = options;
    // What rings arms for all, also while this process's customers have all of its connections.
    this.alarms = new Alarms(rings ? drainDataSource : dataSource, driver, clock, health, {
      kinds,
      granularity,
      horizonMs,
      rings,
    });
    // A driver of a host's own may ring in the context of who has armed.
    const ring: OnRing = (alarms) => nobodysContext.run(() => this.#ring(alarms));
    this.#driverStart = new DriverStart(driver, health, ring);
    this.brake = new Brake(drainDataSource, options.brake ?? { kinds: [], share: null });
    this.shardedSweep = new ShardedSweep(drainDataSource, this.#drains, telemetry);
    const sweep: SweepParts = {
      dataSource: drainDataSource,
      drains: this.#drains,
      brake: this.brake,
      alarms: this.alarms,
      clock,
      health,
      driverStart: this.#driverStart,
      leftToRunMs: (kind) => this.shardedSweep.leftToRunMs(kind),
      telemetry,
    };
    this.sweep = new Sweep(sweep, options.sweep);
    const { drainers = drainDefaults.drainers } = options.drain ?? {};
    this.#further = FurtherDrainers.ofTwoKinds(drainers);
    const { othersWaitMs } = options;
    this.#othersWait =
      othersWaitMs &&
      new OthersWait(othersWaitMs, (error) => telemetry.failed('what others wait', error));
    const backfill = { dataSource, driver, clock, kinds, granularity, horizonMs, rings };
    this.backfill = new Backfill(backfill);
    this.verifyAlarms = new VerifyAlarms({
      dataSource,
      driver,
      kinds,
      granularity,
      rings,
      // Between two sweeps, what has just come within the horizon is not armed yet.
      reachMs: horizonMs - 2 * options.sweep.intervalMs,
    });
  }

  /** Makes `handler` the one that answers for deadlines of `kind`; call it before `start`. */
  handle(kind: string, handler: DeadlineHandler): void {
    if (this.#drains.has(kind)) throw new AmbiguousDeadlineHandlerError(kind);
    if (!this.options.kinds.includes(kind)) throw new UndeclaredDeadlineError(kind);
    const { drainDataSource: dataSource, lock, clock, telemetry } = this.parts;
    const { alarms, brake } = this;
    const othersWaitMs = (): number => this.#othersWait?.ms ?? 0;
    const leftToRunMs = (of: string): number => this.shardedSweep.leftToRunMs(of);
    const waits = { othersWaitMs, leftToRunMs };
    const further = this.#further;
    const parts = { dataSource, lock, alarms, brake, clock, telemetry, further, ...waits };
    this.#drains.set(
      kind,
      new Drain(kind, handler, parts, { ...drainDefaults, ...this.options.drain }),
    );
  }

  /**
   * Fails when a declared kind has no handler: for those who ring. Kinds that wait in the table and
   * are not declared belong to another version of the application, beside which this one may run
   * for a while: they are told of and left alone. `tellOf`: those of them that are worth a word.
   */
  async assertAllHandled(
    tellOf: (kinds: readonly string[]) => Promise<readonly string[]> = async (kinds) => kinds,
  ): Promise<void> {
    const unhandled = this.options.kinds.filter((kind) => !this.#drains.has(kind));
    if (unhandled.length > 0) throw new UnhandledDeadlineError(unhandled);
    const { dataSource } = this.parts;
    const unknown = await onceFree(dataSource, async () => {
      const waiting = await waitingKinds(dataSource);
      return tellOf(waiting.filter((kind) => !this.options.kinds.includes(kind)));
    });
    if (unknown.length > 0) this.parts.telemetry.unknownKinds(unknown);
  }

  /** Arms deadlines with the caller's transaction; their alarms follow its commit. */
  async arm(tx: Transaction, deadlines: readonly Deadline[]): Promise<void> {
    await insertDeadlines(tx, deadlines);
    this.armed(tx, deadlines);
  }

  /** For deadlines that the caller's own SQL has inserted: arms their alarms after the commit. */
  armed(tx: Pick<Transaction, 'afterCommit'>, deadlines: readonly Deadline[]): void {
    tx.afterCommit(() => {
      for (const { kind, dueAt } of deadlines) {
        this.#drains.get(kind)?.lowWater.lower(dueAt.getTime());
      }
      this.alarms.ensure(deadlines);
    });
  }

  /**
   * The alarm that the driver's store holds for this deadline. Reads the store through.
   * @throws {TimerAbilityError} when the alarms cannot be seen from this process
   */
  async findAlarm(deadline: Deadline): Promise<Alarm | undefined> {
    const { granularity, ring = true } = this.options;
    return findAlarm(this.parts.driver, { granularity, rings: ring }, deadline);
  }

  /**
   * How many alarms the driver's store holds. Reads the store through.
   * @throws {TimerAbilityError} when the alarms cannot be seen from this process
   */
  async countAlarms(): Promise<number> {
    this.#assertSeen();
    let count = 0;
    const survey = await this.parts.driver.survey();
    for await (const _ of survey.alarms()) count += 1;
    return count;
  }

  /** Begins to ring; goes on without where a driver takes too long to. */
  async start(): Promise<void> {
    const { clock, dataSource } = this.parts;
    await onceFree(dataSource, () => clock.measure());
    await this.#driverStart.begin(this.options.isDriverOfHost ?? false);
  }

  /** Stops ringing, and waits for the batches under way: the rest of what is due has to wait. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#driverStart.end();
    this.shardedSweep.stop();
    for (const drain of this.#all()) drain.stop();
    const tell = (error: unknown): void => this.parts.telemetry.failed('stop', error);
    // A host's own may fail, or never answer: what is under way is waited for, and let go of, all the same.
    const within = (limitMs: number, ending: Promise<unknown>, what: string): Promise<unknown> =>
      withTimeLimit(ending, limitMs, what).catch(tell);
    // What their slots still have rings for others: the driver takes no alarms once it has stopped.
    const armed = [this.alarms.settled(), this.sweep.stop()];
    await within(ARMED_LIMIT_MS, Promise.all(armed), 'Alarms were not armed');
    // What batches under way still commit is others' to find: a driver that has stopped is no store that fails.
    this.alarms.end();
    await within(STOP_LIMIT_MS, this.parts.driver.stop(), 'The timer driver did not stop');
    // What follows commits may wait for somebody outside; it is armed again, so it may be cut off.
    await within(STOP_LIMIT_MS, this.idle(), 'Work under way did not end');
    await within(ARMED_LIMIT_MS, this.alarms.close(), 'Alarms were not armed');
    await within(CLOSED_LIMIT_MS, this.parts.lock.close(), 'The lock did not close');
  }

  /** Handles everything due now; rejects with the first failure, once all kinds have ended. */
  async drainAll(by: Claimant): Promise<void> {
    const rounds = await Promise.allSettled(this.#all().map((drain) => drain.run(by)));
    for (const round of rounds) if (round.status === 'rejected') throw round.reason;
  }

  /** Handles what is due of one kind now, in the background: for work that was just made due. */
  nudge(kind: string): void {
    const drain = this.#drains.get(kind);
    if (!drain) throw new UnhandledDeadlineError([kind]);
    drain.signal('timer', this.parts.clock.nowMs() - JUST_NOW_MS);
  }

  /** True while so much is due that batch follows batch: what can wait should give way. */
  get isBursting(): boolean {
    return this.#all().some((drain) => drain.isBursting);
  }

  /** Kinds whose handlers fail for all, here. */
  get stoppedKinds(): StoppedKind[] {
    return stoppedKinds(this.#all());
  }

  /** One sweep of everything overdue, however little, and what follows its commits. */
  async runSweep(): Promise<SweepCounts> {
    const counts = await this.sweep.runOnce(0);
    await this.idle();
    return counts;
  }

  /** Resolves when nothing is being handled, and nothing follows what was. */
  async idle(): Promise<void> {
    await Promise.all(this.#all().map((drain) => drain.idle()));
  }

  async #ring(alarms: readonly Alarm[]): Promise<RingAnswer> {
    if (this.#isStopping) return alarms.map(({ id }) => ({ id, inMs: FOR_OTHERS_MS }));
    // Asked of the database each time: an alarm taken too early would leave its slot to the sweep.
    const nowMs = (await this.parts.clock.measure()).getTime();
    const isEarly = ({ at }: Alarm): boolean => at.getTime() > nowMs;
    // One whose instant its store has lost may be for anything.
    const rung = alarms
      .filter((one) => !isEarly(one))
      .map(({ at }) => at.getTime() || EVERYTHING_MS);
    if (rung.length > 0) {
      // Only told: kinds wait for themselves, and the alarms are done.
      // A ring may be late, or for what was committed late: it names the slot where to look from. And
      // in versions before this one slots rang at their ends.
      const slotMs = slotMsOf(this.options.granularity);
      const untilMs = slotMs === 0 ? undefined : Math.max(...rung) + slotMs;
      for (const drain of this.#all()) {
        drain.signal('timer', Math.min(...rung) - slotMs, untilMs);
      }
    }
    return alarms
      .filter(isEarly)
      .map(({ id, at }) => ({ id, inMs: Math.ceil(at.getTime() - nowMs) }));
  }

  #assertSeen(): void {
    const why = unseenAlarms(this.parts.driver, this.options.ring ?? true);
    if (why !== null) throw new TimerAbilityError(why);
  }

  #all(): Drain[] {
    return [...this.#drains.values()];
  }
}
