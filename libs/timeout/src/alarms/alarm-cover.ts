import type { DataSource } from 'typeorm';
import { inPages, singleAlarms, slotAlarms } from './alarm-for';
import { type Granularity, slotAlarm } from '../slots';
import type { Alarm, TimerAbilities } from '../timer-driver';

type Pages = AsyncIterable<readonly Alarm[]>;

/** Which alarms stand for the deadlines in Postgres, and which of them this process knows to be armed. */
export interface AlarmCover {
  /** How many it knows to be armed. */
  readonly remembered: number;
  isArmed(atMs: number): boolean;
  remember(alarms: readonly Alarm[]): void;
  forget(): void;
  forgetBefore(nowMs: number): void;
  /** What rings once more for the slot that ends then; undefined where each deadline has an alarm of its own. */
  again(slotEndMs: number): Alarm | undefined;
  /** Those after one instant and until another that are not known to be armed. */
  due(fromMs: number, untilMs: number): Pages;
  /** Those that the store has to hold, as all until then were armed. */
  expected(fromMs: number, untilMs: number): Pages | Iterable<readonly Alarm[]>;
  /** Those that are soon armed again, whatever is believed of them. */
  anyway(fromMs: number, untilMs: number, abilities: TimerAbilities): Pages;
}

export const coverOf = (
  granularity: Granularity,
  dataSource: DataSource,
  kinds: readonly string[],
): AlarmCover =>
  granularity === 'subject'
    ? new CoverBySubjects(dataSource, kinds)
    : new CoverBySlots(dataSource, kinds, granularity);

class CoverBySlots implements AlarmCover {
  /** By the slot's beginning. Bounded by horizon / granularity. */
  readonly #armed = new Set<number>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly kinds: readonly string[],
    private readonly slotMs: number,
  ) {}

  get remembered(): number {
    return this.#armed.size;
  }

  isArmed(atMs: number): boolean {
    return this.#armed.has(atMs);
  }

  remember(alarms: readonly Alarm[]): void {
    for (const { at } of alarms) this.#armed.add(at.getTime());
  }

  forget(): void {
    this.#armed.clear();
  }

  forgetBefore(nowMs: number): void {
    for (const startMs of this.#armed) if (startMs < nowMs) this.#armed.delete(startMs);
  }

  again(slotEndMs: number): Alarm {
    return slotAlarm(slotEndMs, this.slotMs);
  }

  async *due(fromMs: number, untilMs: number): Pages {
    yield* inPages(this.#unknown(await this.#between(fromMs, untilMs)));
  }

  expected(fromMs: number): Iterable<readonly Alarm[]> {
    const startsMs = [...this.#armed].filter((startMs) => startMs > fromMs);
    return [startsMs.map((startMs) => slotAlarm(startMs + this.slotMs, this.slotMs))];
  }

  /** What is armed already is left as it is, so this costs a call or two and changes nothing. */
  async *anyway(fromMs: number, untilMs: number, { dedupes }: TimerAbilities): Pages {
    const slots = await this.#between(fromMs, untilMs);
    yield* inPages(dedupes ? slots : this.#unknown(slots));
  }

  #between(fromMs: number, untilMs: number): Promise<Alarm[]> {
    return slotAlarms(this.dataSource, this.kinds, fromMs, untilMs, this.slotMs);
  }

  #unknown(slots: readonly Alarm[]): Alarm[] {
    return slots.filter(({ at }) => !this.isArmed(at.getTime()));
  }
}

/** There are as many as deadlines: none is remembered. */
class CoverBySubjects implements AlarmCover {
  readonly remembered = 0;

  constructor(
    private readonly dataSource: DataSource,
    private readonly kinds: readonly string[],
  ) {}

  isArmed(): boolean {
    return false;
  }

  remember(): void {}

  forget(): void {}

  forgetBefore(): void {}

  again(): undefined {
    return undefined;
  }

  due(fromMs: number, untilMs: number): Pages {
    return singleAlarms(this.dataSource, this.kinds, fromMs, untilMs);
  }

  expected(fromMs: number, untilMs: number): Pages {
    return this.due(fromMs, untilMs);
  }

  /** Nobody but us arms for a `process` driver what other processes have placed since it was done last. */
  async *anyway(fromMs: number, untilMs: number, { scope }: TimerAbilities): Pages {
    if (scope === 'process') yield* this.due(fromMs, untilMs);
  }
}
