import type { Clock } from './clock';

interface Entry {
  readonly atMs: number;
  readonly run: () => void;
}

/** The longest delay a Node timer takes; a farther entry is looked at again by then. */
const MAX_TIMER_DELAY_MS = 2 ** 31 - 1;

/** After so many entries in one go the event loop gets a turn, so that a burst starves nobody. */
const MAX_RUN = 500;

/**
 * What is to be done when, in a binary heap behind a single timer: an open payment costs a heap
 * entry and not a Node timer. Nothing is ever taken out early: an entry whose subject has moved
 * on finds that out when it runs.
 */
export class Agenda {
  readonly #clock: Clock;
  readonly #heap: Entry[] = [];
  #cancelTimer: (() => void) | null = null;
  #timerAtMs = Infinity;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  schedule(atMs: number, run: () => void): void {
    this.#heap.push({ atMs, run });
    this.#siftUp(this.#heap.length - 1);
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  #arm(): void {
    const first = this.#heap[0];
    if (this.#stopped || first === undefined || first.atMs >= this.#timerAtMs) return;
    this.#cancelTimer?.();
    this.#timerAtMs = first.atMs;
    const delayMs = Math.min(Math.max(0, first.atMs - this.#clock.now()), MAX_TIMER_DELAY_MS);
    this.#cancelTimer = this.#clock.setTimer(() => this.#ring(), delayMs);
  }

  #ring(): void {
    this.#timerAtMs = Infinity;
    this.#cancelTimer = null;
    const nowMs = this.#clock.now();
    for (let count = 0; count < MAX_RUN && !this.#stopped; count += 1) {
      const first = this.#heap[0];
      if (first === undefined || first.atMs > nowMs) break;
      this.#removeFirst();
      first.run();
    }
    this.#arm();
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#siftDown();
  }

  #siftUp(start: number): void {
    const heap = this.#heap;
    const entry = heap[start]!;
    let index = start;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex]!;
      if (parent.atMs <= entry.atMs) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = entry;
  }

  #siftDown(): void {
    const heap = this.#heap;
    const entry = heap[0]!;
    let index = 0;
    for (;;) {
      let childIndex = 2 * index + 1;
      const right = heap[childIndex + 1];
      if (right !== undefined && right.atMs < heap[childIndex]!.atMs) childIndex += 1;
      const child = heap[childIndex];
      if (child === undefined || child.atMs >= entry.atMs) break;
      heap[index] = child;
      index = childIndex;
    }
    heap[index] = entry;
  }
}
