import type { HookTx } from './hook-tx';
import type { StockEffect } from './order.lifecycle';

/** A line of an order, as the stock is asked for it. */
export interface StockLine {
  readonly orderId: string;
  readonly sku: string;
  readonly quantity: number;
}

/** An order that cannot be had in full, for want of this. */
export interface Shortage {
  readonly orderId: string;
  readonly sku: string;
  /** What can be had of it, as the customer is told. */
  readonly available: number;
}

/**
 * Stock of the host's own, which has the last word where it is given. Products are priced here and
 * have a quantity here as well, which is asked first: give them as much as the shop may ever sell.
 * Its methods are called with sets, in the transaction that decides: what they write commits with the
 * orders, or not at all. They wait for no lock longer than the transaction may: 20 ms where many orders
 * are placed or paid together, one second for an order by itself. Who then still needs it comes again.
 */
export interface StockPort {
  /**
   * Reserves each order's lines, all of them or none, and answers with the orders that are short; those are
   * refused (409 `out_of_stock`), the others are placed.
   */
  reserve(lines: readonly StockLine[], tx: HookTx): Promise<readonly Shortage[]>;
  /**
   * What a change of status does to what was reserved for these orders: `release` gives it back,
   * `sell` ends the reservation, `restock` puts what was sold back. Once for each order and change.
   * @param takenBack what {@link StockPort.takeBack} has heard of these orders before, which is back already
   */
  apply(
    effect: Exclude<StockEffect, 'none'>,
    orderIds: readonly string[],
    tx: HookTx,
    takenBack: readonly StockLine[],
  ): Promise<void>;
  /**
   * Pieces of an order that came back while it stays as it is: an operator refunds and says `restock`. Once
   * for each such refund, with what came back by that one; never more in all than was bought of a line.
   * A stock without this method cannot hear of them: `restock` is refused (409 `restock_not_supported`).
   */
  takeBack?(lines: readonly StockLine[], tx: HookTx): Promise<void>;
}

/** Injection token of the {@link StockPort}. */
export const STOCK_PORT = Symbol('StockPort');

/** Where the host gives none: what is in `products` is all there is. */
export const NO_STOCK_PORT: StockPort = {
  reserve: () => Promise.resolve([]),
  apply: () => Promise.resolve(),
};
