import type { ShownOrder } from '@app/pages';
import { ask } from '../shared/ask';

/** A stream that has not opened by then never will: six tabs may hold all connections of a browser. */
const OPEN_LIMIT_MS = 3_000;
const POLL_MS = 3_000;
/** A tab that nobody looks at for so long needs no connection of its own. */
const HIDDEN_LIMIT_MS = 60_000;
const FINAL = ['closed', 'canceled', 'completed'];

export interface Follower {
  /** An order as it is now, and when it was asked for (`performance.now`). */
  onOrder(order: ShownOrder, askedAtMs: number): void;
  onConnection(isThere: boolean): void;
}

/**
 * Follows one order for as long as the page is open: by the stream of its events, by polling where
 * none opens. An event says only that something has happened; what the order is, is asked.
 */
export class FollowOrder {
  #stream: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #lastEventId: string | undefined;
  #isOver = false;

  constructor(
    private readonly id: string,
    private readonly follower: Follower,
  ) {}

  start(): void {
    document.addEventListener('visibilitychange', () => this.#onVisibility());
    void this.#follow();
  }

  /** Asks now, whatever else is under way. */
  async look(): Promise<void> {
    const askedAtMs = performance.now();
    try {
      const order = await ask<ShownOrder>('GET', `/v1/orders/${this.id}`);
      this.#isOver = FINAL.includes(order.status);
      this.follower.onConnection(true);
      this.follower.onOrder(order, askedAtMs);
    } catch {
      this.follower.onConnection(false);
    }
  }

  #onVisibility(): void {
    clearTimeout(this.#hiding);
    if (document.hidden) {
      this.#hiding = setTimeout(() => this.#stop(), HIDDEN_LIMIT_MS);
      return;
    }
    void this.look();
    if (!this.#stream && this.#timer === undefined) void this.#follow();
  }

  #stop(): void {
    this.#stream?.abort();
    this.#stream = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #follow(): Promise<void> {
    this.#timer = undefined;
    const stream = (this.#stream = new AbortController());
    try {
      await this.#read(stream);
    } catch {
      // Whatever ended it, the order is asked for below, and the stream opened again.
    }
    if (this.#stream !== stream) return;
    this.#stream = undefined;
    await this.look();
    if (!this.#isOver && !document.hidden) {
      this.#timer = setTimeout(() => void this.#follow(), POLL_MS);
    }
  }

  /** Until the stream ends, or does not open in time. */
  async #read(stream: AbortController): Promise<void> {
    const tooLate = setTimeout(() => stream.abort(), OPEN_LIMIT_MS);
    const response = await fetch(`/v1/orders/${this.id}/events`, {
      signal: stream.signal,
      headers: this.#lastEventId === undefined ? {} : { 'last-event-id': this.#lastEventId },
    }).finally(() => clearTimeout(tooLate));
    if (response.status !== 200 || !response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
      const end = text.lastIndexOf('\n\n');
      if (end < 0) continue;
      const ids = [...text.slice(0, end).matchAll(/^id: (.+)$/gm)];
      text = text.slice(end + 2);
      if (ids.length === 0) continue;
      this.#lastEventId = ids.at(-1)?.[1];
      await this.look();
    }
  }
}
