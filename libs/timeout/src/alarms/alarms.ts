import type { DataSource } from 'typeorm';
import { AnsweredCalls, type StoreCalls } from './answered-calls';
import { type AlarmCover, coverOf } from './alarm-cover';
import { alarmFor, inPages } from './alarm-for';
import type { MeasuredClock } from '../clock';
import type { Deadline } from '../deadlines/deadline-handler';
import { bringNear } from '../deadlines/far-deadlines';
import { armLost } from './lost-alarms';
import type { Granularity } from '../slots';
import type { Alarm, Survey, TimerDriver } from '../timer-driver';
import { armsAlarms } from '../timer-limits';
import type { TimerStoreHealth } from './timer-store-health';

export interface AlarmsOptions {
  readonly granularity: Granularity;
  /** Alarms reach this far ahead; what is due later waits in Postgres. */
  readonly horizonMs: number;
  readonly kinds: readonly string[];
  /** False in a process that does not ring; true unless given. */
  readonly rings?: boolean;
}

/** What the store did not take is offered again after so long: a late ring beats the sweep. */
const RETRY_MS = 400;
/** So long after their instants one alarm stands for all: whoever hears it looks from then on to now. */
const PAST_MS = 60_000;
/** Kept while the store is away. What is beyond is the sweep's. */
const MOST_WAITING = 20_000;
/**
 * Slots that end so soon are armed with every `catchUp`, whatever is believed of them: a store may
 * have lost a few. Longer than two sweeps are apart.
 */
const ARM_ANYWAY_MS = 25_000;
/** Every so many calls of `catchUp` read through what the store holds. */
const LOOK_THROUGH_EVERY = 6;
/** What this process makes of the database's clock may be behind by so much. */
const CLOCK_ERROR_MS = 50;
/** What rings so soon may be gone because it rang. */
const SOON_MS = 2_000;

/**
 * Keeps the timer driver's alarms in step with the deadlines in Postgres. Arming is for
 * punctuality only, so it happens after the commit, in the background. What the store does not
 * take is offered again until it does, by the process that knows of it; what the store loses is
 * armed again by `catchUp`, which those who sweep call.
 */
export class Alarms {
  readonly #cover: AlarmCover;
  #prunedAtMs = 0;
  #waiting = new Map<string, Alarm>();
  #flushing: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #generation: string | undefined;
  /** Everything up to here has been armed since the store's data was last known to be lost. */
  #armedUntilMs = 0;
  /** Grows when nothing armed before is to be trusted: also what is just being armed. */
  #epoch = 0;
  #catchUps = 0;
  #closed = false;
  #leavesFar = false;
  #hasBroughtOverdue = false;
  readonly #store: StoreCalls;

  constructor(
    private readonly dataSource: DataSource,
    driver: TimerDriver,
    private readonly clock: MeasuredClock,
    private readonly health: TimerStoreHealth,
    readonly options: AlarmsOptions,
  ) {
    this.#store = new AnsweredCalls(driver);
    this.#cover = coverOf(options.granularity, dataSource, options.kinds);
  }

  /** How many slots this process knows to be armed. */
  get rememberedSlots(): number {
    return this.#cover.remembered;
  }

  /** True where the last `catchUp` has not brought all near that is within reach: there is more to do at once. */
  get leavesFar(): boolean {
    return this.#leavesFar;
  }

  /** True where something was due already that has been brought near since this was asked last. */
  takeBroughtOverdue(): boolean {
    const has = this.#hasBroughtOverdue;
    this.#hasBroughtOverdue = false;
    return has;
  }

  /** Arms what is within the horizon, in the background. Call it after the commit. */
  ensure(deadlines: readonly Deadline[]): void {
    if (!armsAlarms(this.#store, this.options.rings ?? true)) return;
    const nowMs = this.clock.nowMs();
    for (const deadline of deadlines) {
      const alarm = alarmFor(deadline, this.options.granularity);
      const atMs = alarm.at.getTime();
      // A slot that has begun may have rung before this deadline was committed: it rings again.
      const isBegun = atMs <= nowMs + CLOCK_ERROR_MS;
      if (isBegun || !this.#cover.isArmed(atMs)) this.#waiting.set(alarm.id, alarm);
    }
    this.#flushSoon();
  }

  /** Arms the slot that ends then once more, in the background: whoever has heard it looks no longer. */
  ringAgain(slotEndMs: number): void {
    const alarm = this.#cover.again(slotEndMs);
    if (!alarm) return;
    this.#waiting.set(alarm.id, alarm);
    this.#flushSoon();
  }

  /** Resolves when everything handed to `ensure` so far was armed, or refused once by the store. */
  async settled(): Promise<void> {
    await this.#flushing;
  }

  /** Offers nothing more from now on, also of what is handed to it; {@link settled} tells of what is under way. */
  end(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
  }

  /** As {@link end}; resolves once what is under way is. */
  async close(): Promise<void> {
    this.end();
    await this.settled();
  }

  /**
   * Brings far deadlines near, and arms those that have come within the horizon since the last call,
   * or all of them when the driver's store lost its data, and what it has lost of them. Says how many;
   * where `signal` ended it, the next call begins there again. Rejects when the store is silent.
   */
  async catchUp(signal?: AbortSignal): Promise<number> {
    await this.clock.freshen();
    const reachMs = 2 * this.options.horizonMs;
    const near = await bringNear(this.dataSource, this.options.kinds, reachMs, signal);
    this.#leavesFar = !near.isAll;
    this.#hasBroughtOverdue ||= near.hasOverdue;
    if (signal?.aborted) return 0;
    const nowMs = this.clock.nowMs();
    this.#prune(nowMs);
    const survey = await this.#store.survey();
    if (survey.generation !== this.#generation) this.forget();
    const epoch = this.#epoch;
    let armed = await this.#armLost(survey, nowMs, signal);
    if (!signal?.aborted) await this.#armAnyway(nowMs, signal);
    if (signal?.aborted) return armed;
    const untilMs = nowMs + this.options.horizonMs;
    for await (const alarms of this.#cover.due(Math.max(nowMs, this.#armedUntilMs), untilMs)) {
      await this.#store.arm(alarms);
      this.#remember(alarms, epoch);
      armed += alarms.length;
      if (signal?.aborted) return armed;
    }
    // Whoever has lost their trust meanwhile is right: the next call begins anew.
    if (epoch !== this.#epoch) return armed;
    this.#generation = survey.generation;
    this.#armedUntilMs = untilMs;
    return armed;
  }

  /** Trusts nothing armed so far: the next `catchUp` arms everything within the horizon again. */
  forget(): void {
    this.#epoch += 1;
    this.#cover.forget();
    this.#armedUntilMs = 0;
  }

  #flushSoon(): void {
    // While the store refuses, it is asked in its own time, not with every commit.
    if (this.#waiting.size > 0 && !this.#retry && !this.#closed) this.#flushing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    // A tick lets one call arm what a whole group commit brought.
    await new Promise((resolve) => setImmediate(resolve));
    // A machine whose clock is behind would take what is near for far, and arm nothing.
    // While Postgres is away nothing new is committed, and the estimate has to do.
    await this.clock.freshen().catch(() => undefined);
    do {
      const left = await this.#offer(this.#takeWaiting());
      if (left.length === 0) continue;
      this.#keep(left);
      break;
    } while (this.#waiting.size > 0);
    this.#prune(this.clock.nowMs());
    this.#flushing = undefined;
  }

  /** Page by page. Resolves to those that the store did not take, none of which it has said to have. */
  async #offer(alarms: readonly Alarm[]): Promise<readonly Alarm[]> {
    let armed = 0;
    try {
      for (const page of inPages(alarms)) {
        const epoch = this.#epoch;
        await this.#store.arm(page);
        this.#remember(page, epoch);
        armed += page.length;
      }
    } catch (error) {
      this.forget();
      this.health.become(false, error);
      return alarms.slice(armed);
    }
    // A process that only arms has no sweep either that would find the store well again.
    if (armed > 0 && this.options.rings === false) this.health.become(true);
    return [];
  }

  /** Those that are within reach now; what is due later is armed when it has come near. */
  #takeWaiting(): Alarm[] {
    const nowMs = this.clock.nowMs();
    const all = [...this.#waiting.values()];
    this.#waiting = new Map();
    const isPast = ({ at }: Alarm): boolean => at.getTime() <= nowMs - PAST_MS;
    const [oldest] = all.filter(isPast).sort((a, b) => a.at.getTime() - b.at.getTime());
    const untilMs = nowMs + this.options.horizonMs;
    const near = all.filter((one) => !isPast(one) && one.at.getTime() <= untilMs);
    return oldest ? [oldest, ...near] : near;
  }

  /** A process that only arms has no sweep behind it that would arm these. */
  #keep(alarms: readonly Alarm[]): void {
    for (const alarm of alarms) {
      if (this.#waiting.size < MOST_WAITING) this.#waiting.set(alarm.id, alarm);
    }
    clearTimeout(this.#retry);
    if (this.#closed) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#flushing ??= this.#flush();
    }, RETRY_MS);
    this.#retry.unref();
  }

  /** Reads through what the store holds, now and then, and arms what it should hold and does not. */
  async #armLost(survey: Survey, nowMs: number, signal?: AbortSignal): Promise<number> {
    this.#catchUps += 1;
    if (this.#armedUntilMs === 0 || this.#catchUps % LOOK_THROUGH_EVERY !== 0) return 0;
    // What cannot be listed, or is armed from here only, is armed anyway when it comes near.
    if (!this.#store.abilities.surveys || this.#store.abilities.scope === 'process') return 0;
    const expected = this.#cover.expected(nowMs + SOON_MS, this.#armedUntilMs);
    return armLost(expected, survey, this.#store, this.health, signal);
  }

  async #armAnyway(nowMs: number, signal?: AbortSignal): Promise<void> {
    const untilMs = Math.min(nowMs + ARM_ANYWAY_MS, this.#armedUntilMs);
    if (untilMs <= nowMs) return;
    for await (const alarms of this.#cover.anyway(nowMs, untilMs, this.#store.abilities)) {
      await this.#store.arm(alarms);
      if (signal?.aborted) return;
    }
  }

  #remember(alarms: readonly Alarm[], epoch: number): void {
    if (epoch !== this.#epoch) return;
    this.#cover.remember(alarms);
  }

  /** At most once a second, as every process does it, also one that only arms. */
  #prune(nowMs: number): void {
    if (Math.abs(nowMs - this.#prunedAtMs) < 1_000) return;
    this.#prunedAtMs = nowMs;
    this.#cover.forgetBefore(nowMs);
  }
}
