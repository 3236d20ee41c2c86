import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { orderIdOf } from '../order/given-id';
import { FINAL_STATUSES } from '../order/order.lifecycle';
import { onDataSource } from '../order/order-rows';
import { type OrderEventView, readHistory } from './read-history';

const POLL_MS = 500;

interface Follower {
  readonly orderId: string;
  readonly wake: (events: OrderEventView[]) => void;
}

/**
 * Follows orders' histories for open streams: one query in half a second for all of them, so
 * that a stream costs no connection and needs no Redis.
 */
@Injectable()
export class OrderFeed {
  readonly #followers = new Set<Follower>();
  #isLookPlanned = false;

  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /**
   * Yields the order's events after the one of `afterVersion` and then each new one, until one has led
   * to a final status, or `signal` aborts. Begins with the first where no event of this order has that
   * version: who was told another order's is told again what it may know, and misses nothing.
   * Whose order it is, is for the caller to ask first.
   * @throws {LastcallError} order_not_found for an id that cannot exist
   */
  async *follow(
    orderId: string,
    afterVersion: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<OrderEventView> {
    const id = orderIdOf(orderId);
    const sql = onDataSource(this.dataSource);
    let events = await readHistory(sql, [id]);
    let seen = BigInt(find(events, afterVersion)?.version ?? 0);
    while (!signal.aborted) {
      for (const event of events) {
        if (BigInt(event.version) <= seen) continue;
        seen = BigInt(event.version);
        yield event;
      }
      const last = events.at(-1);
      if (last && FINAL_STATUSES.has(last.to)) return;
      events = await this.#nextLook(id, signal);
    }
  }

  /**
   * True when the history has ended, and whoever has seen `afterVersion` has seen all of it.
   * @throws {LastcallError} order_not_found for an id that cannot exist
   */
  async isOver(orderId: string, afterVersion: string | undefined): Promise<boolean> {
    const id = orderIdOf(orderId);
    if (afterVersion === undefined) return false;
    const events = await readHistory(onDataSource(this.dataSource), [id]);
    const last = events.at(-1);
    return last !== undefined && FINAL_STATUSES.has(last.to) && find(events, afterVersion) === last;
  }

  #nextLook(orderId: string, signal: AbortSignal): Promise<OrderEventView[]> {
    return new Promise((resolve) => {
      const done = (events: OrderEventView[]): void => {
        this.#followers.delete(follower);
        signal.removeEventListener('abort', abort);
        resolve(events);
      };
      const abort = (): void => done([]);
      const follower: Follower = { orderId, wake: done };
      signal.addEventListener('abort', abort);
      this.#followers.add(follower);
      this.#planLook();
    });
  }

  #planLook(): void {
    if (this.#isLookPlanned) return;
    this.#isLookPlanned = true;
    setTimeout(() => void this.#look(), POLL_MS);
  }

  async #look(): Promise<void> {
    this.#isLookPlanned = false;
    const followers = [...this.#followers];
    const orderIds = [...new Set(followers.map(({ orderId }) => orderId))];
    // A database that is away is looked at again half a second later; readiness tells of it.
    const events = await readHistory(onDataSource(this.dataSource), orderIds).catch(() => []);
    // Each event is looked at once, however many follow.
    const histories = new Map(orderIds.map((id): [string, OrderEventView[]] => [id, []]));
    for (const event of events) histories.get(event.orderId)?.push(event);
    for (const { orderId, wake } of followers) wake(histories.get(orderId) ?? []);
  }
}

function find(
  events: readonly OrderEventView[],
  version: string | undefined,
): OrderEventView | undefined {
  if (version === undefined) return undefined;
  return events.find((event) => BigInt(event.version) === BigInt(version));
}
