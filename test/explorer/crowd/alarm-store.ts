import {
  type Alarm,
  AlarmStoreError,
  type OnRing,
  type Survey,
  type TimerDriver,
} from '@app/timeout';
import { TRUSTED_ABILITIES } from '../../../libs/timeout/src/testing/trusted-abilities';
import type { Scheduler } from '../scheduler';

/** Where all processes of a program keep their alarms: it can lose some of them, or be away. */
export class AlarmStore {
  readonly #alarms = new Map<string, Alarm>();
  isAway = false;

  constructor(readonly scheduler: Scheduler) {}

  empty(): void {
    this.#alarms.clear();
    this.isAway = false;
  }

  add(alarms: readonly Alarm[]): void {
    if (this.isAway) throw new AlarmStoreError('The alarm store is away');
    for (const alarm of alarms) if (!this.#alarms.has(alarm.id)) this.#alarms.set(alarm.id, alarm);
  }

  remove(ids: readonly string[]): void {
    for (const id of ids) this.#alarms.delete(id);
  }

  /** Takes out what is due, as an alarm is spent the moment its ring begins. */
  takeDue(nowMs: number): Alarm[] {
    if (this.isAway) return [];
    const due = [...this.#alarms.values()].filter(({ at }) => at.getTime() <= nowMs);
    this.remove(due.map(({ id }) => id));
    return due;
  }

  /** What an eviction or a failover does: every second one is gone, and nobody says so. */
  loseSome(): void {
    this.remove([...this.#alarms.keys()].filter((_, index) => index % 2 === 0));
  }

  list(): Alarm[] {
    if (this.isAway) throw new AlarmStoreError('The alarm store is away');
    return [...this.#alarms.values()];
  }
}

/** One process' driver: it rings when the program says so. */
export class StoredAlarms implements TimerDriver {
  readonly name = 'stored';
  readonly abilities = TRUSTED_ABILITIES;
  onRing: OnRing | undefined;

  constructor(private readonly store: AlarmStore) {}

  async start(onRing: OnRing): Promise<void> {
    this.onRing = onRing;
  }

  async stop(): Promise<void> {
    this.onRing = undefined;
  }

  arm(alarms: readonly Alarm[]): Promise<void> {
    return this.store.scheduler.step('arm', async () => this.store.add(alarms));
  }

  async disarm(ids: readonly string[]): Promise<void> {
    this.store.remove(ids);
  }

  survey(): Promise<Survey> {
    return this.store.scheduler.step('survey', async () => {
      const alarms = this.store.list();
      return {
        generation: 'one',
        async *alarms() {
          yield* alarms;
        },
      };
    });
  }

  /** Rings everything that is due by this clock; resolves when every ring was answered. */
  async ringDue(nowMs: number): Promise<void> {
    for (const alarm of this.store.takeDue(nowMs)) {
      const again = (await this.onRing?.([alarm]))?.[0];
      if (again) this.store.add([{ ...alarm, at: new Date(nowMs + again.inMs) }]);
    }
  }
}
