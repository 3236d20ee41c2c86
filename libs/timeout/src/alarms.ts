import type { DataSource } from 'typeorm';
import type { Clock } from './clock';
import type { Deadline } from './deadline-handler';
import { deadlinesBetween, slotsBetween } from './deadlines';
import type { Alarm, TimerDriver } from './timer-driver';
import type { TimerStoreHealth } from './timer-store-health';

/** How alarms stand for deadlines: one for each slot of so many milliseconds, or one each. */
export type Granularity = number | 'subject';

export interface AlarmsOptions {
  readonly granularity: Granularity;
  /** Alarms reach this far ahead; what is due later waits in Postgres. */
  readonly horizonMs: number;
  readonly kinds: readonly string[];
}

/** Deadlines read from Postgres at once when every single one has an alarm of its own. */
const REARM_PAGE = 1_000;

/** The alarm whose ring covers this deadline: never before it is due. */
export function alarmFor(deadline: Deadline, granularity: Granularity): Alarm {
  if (granularity === 'subject') {
    const { kind, subjectId, version, dueAt } = deadline;
    return { id: `${kind}-${subjectId}-${version}`, at: dueAt };
  }
  return slotAlarm(Math.ceil(deadline.dueAt.getTime() / granularity) * granularity);
}

function slotAlarm(endMs: number): Alarm {
  return { id: `slot-${endMs}`, at: new Date(endMs) };
}

/**
 * Keeps the timer driver's alarms in step with the deadlines in Postgres. Arming is for
 * punctuality only, so it happens after the commit, in the background, and a failure costs
 * lateness: the sweep re-arms and claims.
 */
export class Alarms {
  /** Slots known to be armed, by their end. Bounded by horizon / granularity. */
  readonly #armedSlots = new Set<number>();
  #waiting = new Map<string, Alarm>();
  #flushing: Promise<void> | undefined;
  #generation: string | undefined;
  /** Everything up to here has been armed since the store's data was last known to be lost. */
  #armedUntilMs = 0;

  constructor(
    private readonly dataSource: DataSource,
    private readonly driver: TimerDriver,
    private readonly clock: Clock,
    private readonly health: TimerStoreHealth,
    readonly options: AlarmsOptions,
  ) {}

  /** Arms what is within the horizon, in the background. Call it after the commit. */
  ensure(deadlines: readonly Deadline[]): void {
    const nowMs = this.clock.nowMs();
    for (const deadline of deadlines) {
      if (deadline.dueAt.getTime() > nowMs + this.options.horizonMs) continue;
      const alarm = alarmFor(deadline, this.options.granularity);
      const atMs = alarm.at.getTime();
      // A slot that has ended may have rung before this deadline was committed: it rings again.
      if (atMs <= nowMs || !this.#armedSlots.has(atMs)) this.#waiting.set(alarm.id, alarm);
    }
    if (this.#waiting.size > 0) this.#flushing ??= this.#flush();
  }

  /** Resolves when everything handed to `ensure` so far was armed or given up. */
  async settled(): Promise<void> {
    await this.#flushing;
  }

  /**
   * Arms deadlines that have come within the horizon since the last call, or all of them when
   * the driver's store lost its data. Rejects when the store does not answer.
   */
  async catchUp(): Promise<number> {
    const nowMs = this.clock.nowMs();
    this.#forgetPast(nowMs);
    const { generation } = await this.driver.survey();
    if (generation !== this.#generation) this.forget();
    const untilMs = nowMs + this.options.horizonMs;
    let armed = 0;
    for await (const alarms of this.#due(Math.max(nowMs, this.#armedUntilMs), untilMs)) {
      await this.driver.arm(alarms);
      this.#remember(alarms);
      armed += alarms.length;
    }
    this.#generation = generation;
    this.#armedUntilMs = untilMs;
    return armed;
  }

  /** Trusts nothing armed so far: the next `catchUp` arms everything within the horizon again. */
  forget(): void {
    this.#armedSlots.clear();
    this.#armedUntilMs = 0;
  }

  async #flush(): Promise<void> {
    // A tick lets one call arm what a whole group commit brought.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.size > 0) {
      const alarms = [...this.#waiting.values()];
      this.#waiting = new Map();
      try {
        await this.driver.arm(alarms);
        this.#remember(alarms);
      } catch (error) {
        this.forget();
        this.health.become(false, error);
      }
    }
    this.#flushing = undefined;
  }

  async *#due(afterMs: number, untilMs: number): AsyncGenerator<Alarm[]> {
    const { granularity, kinds } = this.options;
    const [after, until] = [new Date(afterMs), new Date(untilMs)];
    if (granularity !== 'subject') {
      const slots = await slotsBetween(this.dataSource, kinds, after, until, granularity);
      const fresh = slots.filter((endMs) => !this.#armedSlots.has(endMs));
      if (fresh.length > 0) yield fresh.map(slotAlarm);
      return;
    }
    for (const kind of kinds) {
      for await (const page of deadlinesBetween(this.dataSource, kind, after, until, REARM_PAGE)) {
        yield page.map((deadline) => alarmFor(deadline, granularity));
      }
    }
  }

  #remember(alarms: readonly Alarm[]): void {
    if (this.options.granularity === 'subject') return;
    for (const alarm of alarms) this.#armedSlots.add(alarm.at.getTime());
  }

  #forgetPast(nowMs: number): void {
    for (const endMs of this.#armedSlots) if (endMs < nowMs) this.#armedSlots.delete(endMs);
  }
}
