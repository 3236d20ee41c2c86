import { asProvider } from '@app/timeout';
import { applyDecorators, SetMetadata } from '@nestjs/common';
import type { HookTx } from './hook-tx';
import type { By, OrderStatus } from './order.lifecycle';

/** A change of status that orders have just made, in sets. */
export interface OrderTransition {
  /** `none` for orders that have just been placed. */
  readonly from: OrderStatus | 'none';
  readonly to: OrderStatus;
  readonly by: By;
  /** As in the orders' history; null where there is none. */
  readonly reason: string | null;
  readonly orderIds: readonly string[];
}

/** An order that is about to be placed: priced, and with its id, and not yet written. */
export interface OrderDraft {
  readonly orderId: string;
  readonly customerId: string;
  readonly items: readonly {
    readonly sku: string;
    readonly quantity: number;
    /** In minor units of `currency`. */
    readonly unitPrice: number;
  }[];
  readonly amount: number;
  readonly currency: string;
}

/** An order that may not be placed; the customer reads the message (409 `order_refused`). */
export interface Refusal {
  readonly orderId: string;
  readonly message: string;
  /** Facts that a program may want, as `{ coupon: 'TEN' }`. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** What a class marked `@OrderHook()` is: it has one of these, or both. */
export interface HooksOrders {
  /**
   * Called in the transaction that places these orders, before they are written; answers with those
   * that it refuses, and their neighbours are placed. What it writes for an order that is refused by
   * somebody behind it stays: so it only looks here, and acts when `onTransition` tells from `none`.
   * What it throws places none of them.
   */
  beforePlace?(drafts: readonly OrderDraft[], tx: HookTx): Promise<readonly Refusal[]>;
  /**
   * Called in the transaction that changes these orders: both commit, or neither does. Once for each
   * change that is committed; what throws undoes the change. It bounds its own work by sets.
   */
  onTransition?(change: OrderTransition, tx: HookTx): Promise<void>;
}

const MARK = 'lastcall:order-hook';

/** Makes a provider hear of every change of an order's status, in the transaction that makes it. */
export const OrderHook = (): (<T extends abstract new (...args: never[]) => HooksOrders>(
  target: T,
) => void) => applyDecorators(asProvider, SetMetadata(MARK, true));

export const isOrderHook = (metatype: unknown): boolean =>
  typeof metatype === 'function' && Reflect.hasMetadata(MARK, metatype);
