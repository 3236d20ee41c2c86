import type { Clock } from '../clock';
import type { Alarm } from '../timer-driver';
import { AlarmHeap } from './alarm-heap';
import type { AlarmSource, Taken } from './ring-loop';

/**
 * Alarms that a broker has handed out early and wants to hear of: their last seconds are waited for
 * here. Until it was told, the broker gives them to somebody else when this process dies.
 */
export class HeldAlarms<Delivery> implements AlarmSource {
  readonly #heap = new AlarmHeap();
  readonly #deliveries = new Map<Alarm, Delivery>();

  constructor(
    private readonly clock: Clock,
    /** Tells the broker that an alarm has rung, or was another one's double. */
    private readonly done: (delivery: Delivery) => void,
  ) {}

  /** How many are held or ring just now. */
  get size(): number {
    return this.#deliveries.size;
  }

  /** Held twice it rings once: the other is done at once. */
  hold(alarm: Alarm, delivery: Delivery): void {
    if (this.#heap.add(alarm)) this.#deliveries.set(alarm, delivery);
    else this.done(delivery);
  }

  /** Those that do not ring yet, each handed to `giveBack`; what rings is waited for elsewhere. */
  giveBack(giveBack: (delivery: Delivery) => void): void {
    for (const alarm of this.#heap.takeDue(Infinity, Infinity)) this.#end(alarm, giveBack);
  }

  /** Takes back those that do not ring yet. */
  remove(ids: readonly string[]): void {
    const gone = new Set(ids);
    for (const alarm of [...this.#heap.alarms()].filter(({ id }) => gone.has(id))) {
      this.#heap.remove(alarm.id);
      this.#end(alarm, this.done);
    }
  }

  clear(): void {
    this.#heap.clear();
    this.#deliveries.clear();
  }

  async take(nowMs: number, limit: number): Promise<Taken> {
    return { due: this.#heap.takeDue(nowMs, limit), nextAtMs: this.#heap.firstAtMs };
  }

  async forget(rung: readonly Alarm[]): Promise<void> {
    for (const alarm of rung) this.#end(alarm, this.done);
  }

  async putBack(again: readonly { readonly alarm: Alarm; readonly inMs: number }[]): Promise<void> {
    const nowMs = this.clock.nowMs();
    for (const { alarm, inMs } of again) {
      if (!this.#heap.add(alarm, nowMs + inMs)) this.#end(alarm, this.done);
    }
  }

  #end(alarm: Alarm, how: (delivery: Delivery) => void): void {
    const delivery = this.#deliveries.get(alarm);
    this.#deliveries.delete(alarm);
    if (delivery !== undefined) how(delivery);
  }
}
