import type { DataSource } from 'typeorm';
import type { Alarms } from '../alarms/alarms';
import { Arming } from '../alarms/arming';
import type { Brake } from '../brake/brake';
import type { DatabaseClock } from '../database/database-clock';
import type { Drain } from '../draining/drain';
import type { DriverStart } from '../alarms/driver-start';
import { failpoint } from '../failpoint';
import { type LeftAlone, leftAlone } from './left-alone';
import { EVERYTHING_MS } from '../deadlines/low-water';
import { type LookedAt, type OldestLag, oldestLags } from '../deadlines/oldest-lags';
import { withTimeLimit } from '../time-limit';
import { sumOf, type SweptCounts } from './swept-counts';
import type { TimeoutTelemetry } from '../telemetry';
import type { TimerStoreHealth } from '../alarms/timer-store-health';

export interface SweepOptions {
  readonly intervalMs: number;
  /** The interval while the timer store is unhealthy; a sweep waits no longer for its arming. */
  readonly unhealthyIntervalMs: number;
  /**
   * What is overdue by less is left to the alarm that is about to ring for it, so that a sweep
   * does not take the credit (and the alert) for work that was on time.
   */
  readonly leaveToTimerMs: number;
}

export const sweepDefaults = {
  unhealthyIntervalMs: 1_000,
  /** Slot and driver ring well within this time (bench/punctuality.ts); what is later is the sweep's. */
  leaveToTimerMs: 1_000,
} as const satisfies Partial<SweepOptions>;

export interface SweepCounts extends SweptCounts {
  /** Alarms armed because their deadline came within the horizon or the store lost them. */
  armed: number;
  /** How overdue the oldest deadline was when the sweep began; 0 when none was. */
  oldestLagMs: number;
}

/** What a sweep works with. */
export interface SweepParts {
  readonly dataSource: DataSource;
  readonly drains: ReadonlyMap<string, Drain>;
  readonly brake: Brake;
  readonly alarms: Alarms;
  readonly clock: DatabaseClock;
  readonly health: TimerStoreHealth;
  readonly driverStart: Pick<DriverStart, 'again' | 'isMissing'>;
  /** What of a kind is due before is left to a sharded sweep, in milliseconds since the epoch. */
  readonly leftToRunMs: (kind: string) => number;
  readonly telemetry: TimeoutTelemetry;
}

/** What the sweep finds overdue by more than this beyond what it leaves to the timer, was missed. */
const LATE_MS = 1_000;

/** A sweep whose drains are still at it. */
export interface SweepUnderWay {
  readonly armed: number;
  readonly oldestLagMs: number;
  /** Rejects with the first failure, once all kinds have ended. */
  readonly drained: Promise<SweptCounts>;
}

/** What was seen of a kind, and its drain. */
interface Looked extends LookedAt, OldestLag {
  readonly drain: Drain;
}

/** One that failed is made anew after so long, however far apart sweeps are. */
const FAILED_AGAIN_MS = 10_000;
/**
 * Rings of ours come within 200 ms nearly always. With a look four times a second, and the time
 * that a drain takes, what has lost its alarm is handled within a second.
 */
const MISSED_MS = 500;

/**
 * The backstop: keeps the alarms armed, and claims what is overdue, whatever the alarms did.
 * Any number of instances may sweep at once; they share the work by `SKIP LOCKED`.
 */
export class Sweep {
  /** By the monotonic clock: a clock that is set neither stops sweeping nor hurries it. */
  #lastRunAtMs = -Infinity;
  readonly #arming: Arming;
  readonly #beganMs = performance.now();

  constructor(
    private readonly parts: SweepParts,
    readonly options: SweepOptions,
  ) {
    this.#arming = new Arming(parts.alarms, parts.health, parts.telemetry);
  }

  /** True when a sweep should run now, by `performance.now()`; asked every second. */
  isDue(nowMs: number): boolean {
    // At an interval each what is left over would come due before its turn.
    if (this.parts.alarms.leavesFar) return true;
    // Of what a sweep before this one has not seen nothing else would hear.
    if (this.parts.alarms.takeBroughtOverdue()) this.#lastRunAtMs = -Infinity;
    const { intervalMs, unhealthyIntervalMs } = this.options;
    const everyMs = this.parts.health.healthy
      ? intervalMs
      : Math.min(intervalMs, unhealthyIntervalMs);
    // Half a second of tolerance, for ticks come a little early or late.
    return nowMs - this.#lastRunAtMs >= everyMs - 500;
  }

  /** Arms, in the background, where no sweep has for minutes; asked every second where none is due. */
  armIfDue(nowMs: number): void {
    if (this.#arming.isDue(nowMs)) void this.#arming.arm();
  }

  /**
   * Sends out the drains of what is late and nobody of this process is at: its alarm was lost, on
   * whichever way, and a sweep that waited for its interval would come late. One look at the oldest
   * deadline of each kind. True when there was something: then the next sweep, which arms what else
   * is lost, is due at once.
   */
  async takeMissed(): Promise<boolean> {
    const { dataSource, leftToRunMs } = this.parts;
    const idle = this.#drains().filter((drain) => !drain.isClaiming && !drain.standsStill);
    const looked = await oldestLags(
      dataSource,
      idle.map((drain) => {
        const { kind, lateCommits, lowWater } = drain;
        const sinceMs = Math.max(lateCommits.behind(lowWater.fromMs), leftToRunMs(kind));
        return { drain, kind, sinceMs };
      }),
    );
    const missed = looked.filter(({ drain, lagMs, seen }) => {
      drain.lateCommits.looked(seen);
      return lagMs > MISSED_MS;
    });
    if (missed.length === 0) return false;
    this.#lastRunAtMs = -Infinity;
    const drains = missed.map(({ drain }) => drain);
    // The look above is near the mark: what was committed with it may be due since long before, and goes first.
    void this.#sendOut(drains, 0, await this.#oldestOf(drains));
    return true;
  }

  /** False since arming failed, or since alarms that should have rung did not. */
  get timerStoreHealthy(): boolean {
    return this.parts.health.healthy;
  }

  /**
   * Arms first, looks at the brake, then sends the drains out and waits for none of them. What a
   * slow store takes long to arm goes on meanwhile: this worker is alive, and has to say so. Rejects
   * when Postgres is away; a timer store that is away only makes it unhealthy.
   */
  async begin(
    leaveToTimerMs = this.parts.health.healthy ? this.options.leaveToTimerMs : 0,
    armingLimitMs = this.options.unhealthyIntervalMs,
  ): Promise<SweepUnderWay> {
    const startedMs = performance.now();
    this.#lastRunAtMs = startedMs;
    try {
      return await this.#begin(startedMs, leaveToTimerMs, armingLimitMs);
    } catch (error) {
      // Nobody has looked, and who does not sweep is missed soon.
      const { intervalMs } = this.options;
      this.#lastRunAtMs = startedMs - intervalMs + Math.min(intervalMs, FAILED_AGAIN_MS);
      throw error;
    }
  }

  async #begin(
    startedMs: number,
    leaveToTimerMs: number,
    armingLimitMs: number,
  ): Promise<SweepUnderWay> {
    await this.parts.clock.measure();
    this.parts.driverStart.again();
    const armed = withTimeLimit(this.#arming.arm(), armingLimitMs, 'Not armed');
    const isArmed = await armed.catch(() => false);
    await failpoint('sweep.armed');
    this.parts.alarms.takeBroughtOverdue();
    await this.parts.brake.refresh();
    const drains = this.#drains();
    // Not by its alarms is a kind late whose handler fails.
    const looked = await this.#oldestOf(drains.filter((drain) => !drain.standsStill));
    const oldestLagMs = Math.max(0, ...looked.map(({ lagMs }) => lagMs));
    if (isArmed && !this.parts.driverStart.isMissing) await this.#judgeHealth(looked);
    const drained = this.#sendOut(drains, leaveToTimerMs, looked);
    const tookMs = performance.now() - startedMs;
    const counts = { armed: this.#arming.takeArmed(), oldestLagMs };
    this.parts.telemetry.swept({ ...counts, tookMs });
    return { ...counts, drained };
  }

  /** One sweep to its end, for whoever wants to see what it did. */
  async runOnce(leaveToTimerMs?: number): Promise<SweepCounts> {
    // One that is under way has not seen what has just become due, and brings it near for nobody.
    await this.#arming.settled();
    const { armed, oldestLagMs, drained } = await this.begin(leaveToTimerMs, Infinity);
    return { ...(await drained), armed, oldestLagMs };
  }

  /** Arms no more; resolves when what is being armed has come to the store. */
  stop(): Promise<void> {
    return this.#arming.stop();
  }

  /** Of all that the brake does not hold. */
  #drains(): Drain[] {
    return [...this.parts.drains.values()].filter(({ kind }) => !this.parts.brake.holds(kind));
  }

  #oldestOf(drains: readonly Drain[]): Promise<Looked[]> {
    const { dataSource, leftToRunMs } = this.parts;
    return oldestLags(
      dataSource,
      drains.map((drain) => ({ drain, kind: drain.kind, sinceMs: leftToRunMs(drain.kind) })),
    );
  }

  /**
   * What they did is told when all are back; rejects with the first failure, which is told as well. The
   * oldest that was seen of each is where its claims begin. Without those of which a part is left to a
   * run: nobody has seen that, and it must be found when the run leaves it.
   */
  #sendOut(
    drains: readonly Drain[],
    leaveToTimerMs: number,
    looked: readonly Looked[],
  ): Promise<SweptCounts> {
    const whole = looked.filter(({ sinceMs }) => sinceMs === EVERYTHING_MS);
    const oldestMs = new Map(whole.map((one) => [one.drain, one.oldestMs]));
    const drained = sumOf(
      drains.map((drain) => ({
        kind: drain.kind,
        counts: drain.run('sweep', leaveToTimerMs, oldestMs.get(drain)),
      })),
    );
    const { telemetry } = this.parts;
    drained.then(
      (counts) => telemetry.sweptUp(counts),
      (error: unknown) => telemetry.failed('sweep', error),
    );
    return drained;
  }

  /**
   * What was due before this process could hear of it, or before its kind went on, is being handled, or was and
   * failed, is not late by its alarm; nor is what somebody holds, which claims pass over.
   */
  async #judgeHealth(looked: readonly Looked[]): Promise<void> {
    const toleratedMs = this.options.leaveToTimerMs + LATE_MS;
    const upMs = performance.now() - this.#beganMs;
    const isLate = ({ kind, lagMs }: LeftAlone): boolean =>
      lagMs > toleratedMs && lagMs < Math.min(upMs, this.parts.brake.freeForMs(kind));
    const late = looked.filter((one) => isLate(one) && !one.drain.hasFailed);
    const [worst] = (await leftAlone(this.parts.dataSource, late))
      .filter(isLate)
      .sort((a, b) => b.lagMs - a.lagMs);
    const why = worst && `a deadline of kind "${worst.kind}" was ${worst.lagMs} ms overdue`;
    this.parts.health.become(!worst, why);
  }
}
