/** Something to ring; owned by one wheel at most. */
export interface WheelEntry {
  /** When to ring, in ms since the epoch. */
  readonly ringAtMs: number;
  /** The slot it is in, for O(1) removal. Kept by the wheel. */
  slot?: Set<WheelEntry> | undefined;
  level?: number | undefined;
}

/** How exact a wheel is: it rings with the first tick that is not before the instant. */
export const TICK_MS = 5;
/** Slots of each level: 2^6. */
const SLOTS = 64;
/** 5 ms * 64^6 is ten years; what is beyond takes another round in the last level. */
const LEVELS = 6;

/**
 * A hierarchical timing wheel (Varghese and Lauck 1987): a slot of a level spans all slots of the
 * level below, and is emptied into them when time reaches it. Adding and removing are O(1); each
 * entry is moved once a level at most.
 */
export class HierarchicalWheel<Entry extends WheelEntry> {
  readonly #levels = Array.from({ length: LEVELS }, () =>
    Array.from({ length: SLOTS }, () => new Set<Entry>()),
  );
  readonly #counts = new Array<number>(LEVELS).fill(0);
  #due = new Set<Entry>();
  /** Everything up to this tick has been moved to what is due. */
  #tick: number;

  constructor(nowMs: number) {
    this.#tick = Math.floor(nowMs / TICK_MS);
  }

  add(entry: Entry): void {
    const tick = tickOf(entry);
    const ahead = tick - this.#tick;
    if (ahead <= 0) return this.#put(entry, this.#due, -1);
    let level = 0;
    for (let span = SLOTS; ahead >= span && level < LEVELS - 1; span *= SLOTS) level += 1;
    // Beyond the last level it waits in the slot that comes last, for another round.
    const most = SLOTS ** LEVELS - SLOTS ** (LEVELS - 1);
    const at = Math.min(tick, this.#tick + most);
    const slots = this.#levels[level] as Set<Entry>[];
    this.#put(entry, slots[Math.floor(at / SLOTS ** level) % SLOTS] as Set<Entry>, level);
  }

  remove(entry: Entry): void {
    if (!entry.slot?.delete(entry)) return;
    if (entry.level !== undefined && entry.level >= 0) this.#count(entry.level, -1);
    entry.slot = undefined;
  }

  /** Takes out at most `limit` that ring at `nowMs` or before. A clock set back takes nothing. */
  take(nowMs: number, limit: number): Entry[] {
    this.#advance(Math.floor(nowMs / TICK_MS));
    const taken: Entry[] = [];
    for (const entry of this.#due) {
      if (taken.length === limit) break;
      // What was due by a clock that was set back since is not due any more.
      if (entry.ringAtMs <= nowMs) taken.push(entry);
    }
    for (const entry of taken) this.remove(entry);
    return taken.sort((a, b) => a.ringAtMs - b.ringAtMs);
  }

  /** When there may be something to take, at the latest; undefined when the wheel is empty. */
  get nextAtMs(): number | undefined {
    let next = Infinity;
    for (const { ringAtMs } of this.#due) next = Math.min(next, ringAtMs);
    for (let level = 0; level < LEVELS; level++) {
      if (this.#counts[level] === 0) continue;
      const span = SLOTS ** level;
      const current = Math.floor(this.#tick / span);
      for (let ahead = 1; ahead <= SLOTS; ahead++) {
        if ((this.#levels[level]?.[(current + ahead) % SLOTS]?.size ?? 0) === 0) continue;
        next = Math.min(next, (current + ahead) * span * TICK_MS);
        break;
      }
    }
    return next === Infinity ? undefined : next;
  }

  /** Tick by tick where something is in the lowest level, in leaps where nothing is. */
  #advance(target: number): void {
    while (this.#tick < target) {
      const empty = this.#counts.findIndex((count) => count > 0);
      if (empty < 0) {
        this.#tick = target;
        return;
      }
      const span = SLOTS ** empty;
      const reached = (Math.floor(this.#tick / span) + 1) * span;
      if (reached > target) {
        this.#tick = target;
        return;
      }
      this.#tick = reached;
      for (let level = LEVELS - 1; level >= 0; level--) {
        if (reached % SLOTS ** level === 0) this.#empty(level, (reached / SLOTS ** level) % SLOTS);
      }
    }
  }

  #empty(level: number, index: number): void {
    const slots = this.#levels[level] as Set<Entry>[];
    const entries = slots[index] as Set<Entry>;
    if (entries.size === 0) return;
    slots[index] = new Set();
    this.#count(level, -entries.size);
    for (const entry of entries) this.add(entry);
  }

  #put(entry: Entry, slot: Set<Entry>, level: number): void {
    slot.add(entry);
    entry.slot = slot;
    entry.level = level;
    if (level >= 0) this.#count(level, 1);
  }

  #count(level: number, by: number): void {
    this.#counts[level] = (this.#counts[level] ?? 0) + by;
  }
}

function tickOf({ ringAtMs }: WheelEntry): number {
  return Math.ceil(ringAtMs / TICK_MS);
}
