import type { Alarm } from '../timer-driver';

interface Entry {
  readonly alarm: Alarm;
  /** When to ring it: later than its instant where it was put back. */
  readonly ringAtMs: number;
}

/**
 * Alarms by instant: a binary heap, whose root rings first, beside a map by id. An alarm taken
 * back stays in the heap as an entry that the map no longer knows, until it comes up, or until
 * half of the heap is of that kind.
 */
export class AlarmHeap {
  readonly #byId = new Map<string, Entry>();
  #heap: Entry[] = [];

  get size(): number {
    return this.#byId.size;
  }

  /** False when the id is there already, which is then left as it is. */
  add(alarm: Alarm, ringAtMs = alarm.at.getTime()): boolean {
    if (this.#byId.has(alarm.id)) return false;
    const entry = { alarm, ringAtMs };
    this.#byId.set(alarm.id, entry);
    this.#heap.push(entry);
    this.#rise(this.#heap.length - 1);
    return true;
  }

  remove(id: string): void {
    if (!this.#byId.delete(id)) return;
    if (this.#heap.length > 2 * this.#byId.size + 64) this.#rebuild();
  }

  /** When the first one rings; undefined when there is none. */
  get firstAtMs(): number | undefined {
    this.#dropDead();
    return this.#heap[0]?.ringAtMs;
  }

  /** Takes out at most `limit` that ring at `nowMs` or before, the earliest first. */
  takeDue(nowMs: number, limit: number): Alarm[] {
    const due: Alarm[] = [];
    while (due.length < limit) {
      const { firstAtMs } = this;
      if (firstAtMs === undefined || firstAtMs > nowMs) break;
      const { alarm } = this.#pop();
      this.#byId.delete(alarm.id);
      due.push(alarm);
    }
    return due;
  }

  clear(): void {
    this.#byId.clear();
    this.#heap = [];
  }

  *alarms(): Generator<Alarm> {
    for (const { alarm } of this.#byId.values()) yield alarm;
  }

  #dropDead(): void {
    for (let first = this.#heap[0]; first; first = this.#heap[0]) {
      if (this.#byId.get(first.alarm.id) === first) return;
      this.#pop();
    }
  }

  #pop(): Entry {
    const first = this.#heap[0] as Entry;
    const last = this.#heap.pop() as Entry;
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink(0);
    }
    return first;
  }

  /** In one pass: an array in ascending order is a heap. */
  #rebuild(): void {
    this.#heap = [...this.#byId.values()].sort((a, b) => a.ringAtMs - b.ringAtMs);
  }

  #rise(from: number): void {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (this.#at(parent) <= this.#at(at)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(from: number): void {
    for (let at = from; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const child = this.#at(right) < this.#at(left) ? right : left;
      if (this.#at(at) <= this.#at(child)) return;
      this.#swap(at, child);
      at = child;
    }
  }

  #at(index: number): number {
    return this.#heap[index]?.ringAtMs ?? Infinity;
  }

  #swap(one: number, other: number): void {
    const entry = this.#heap[one] as Entry;
    this.#heap[one] = this.#heap[other] as Entry;
    this.#heap[other] = entry;
  }
}
