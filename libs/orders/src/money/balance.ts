import type { Queryable } from '../order/order-rows';
import { isForTheShop, paysForNothing } from './kept-payments';

/** What one payment holds, as its movements add up; minor units of `currency`. */
export interface PaymentBalance {
  readonly orderId: string;
  readonly paymentId: string;
  readonly currency: string;
  readonly captured: number;
  /** Has gone back, by our refunds and by others. */
  readonly refunded: number;
  /** Is owed and has not gone back. */
  readonly refunding: number;
  /** Taken by disputes that are open or lost. */
  readonly disputed: number;
  /** The part of `disputed` whose dispute is open. */
  readonly inDispute: number;
  /** Waits for an operator. */
  readonly held: number;
  /** An operator has decided that the shop keeps it: it pays for no order, and does not go back with one. */
  readonly isForTheShop: boolean;
  /** So it is, or it was found to be nobody's of ours and sent back: late, double, or of another amount. */
  readonly paysForNothing: boolean;
}

/** What can still go back: never what has gone, is going, or was taken by a dispute. */
export function refundable({ captured, refunded, refunding, disputed }: PaymentBalance): number {
  return Math.max(0, captured - refunded - refunding - disputed);
}

/** What the shop may count on for its order. */
export function kept(balance: PaymentBalance): number {
  return balance.isForTheShop ? 0 : Math.max(0, refundable(balance) - balance.held);
}

/** What the buyer's bank has of the money that an order is paid with. A dispute about any other keeps no order. */
export function inDisputeOfOrder({ inDispute, ...balance }: PaymentBalance): number {
  return balance.paysForNothing ? 0 : inDispute;
}

/**
 * SQL that is true while the buyer's bank has money of a payment; `paymentId` is SQL too. OFFSET 0: the
 * movements of that payment are read, and never those of all.
 */
export const isInDispute = (paymentId: string): string => `EXISTS (
  SELECT FROM payment_balances b WHERE b.payment_id = ${paymentId} AND b.in_dispute > 0 OFFSET 0)`;

/**
 * SQL that is true of a balance `b` by which more is to go back than there is: some of it has gone back
 * otherwise meanwhile. While a dispute is open nobody knows yet.
 */
export const OWES_TOO_MUCH =
  'b.in_dispute = 0 AND b.captured < b.refunded + b.refunding + b.disputed';

const COLUMNS = `order_id AS "orderId", payment_id AS "paymentId", currency,
  captured::float8 AS captured, refunded::float8 AS refunded, refunding::float8 AS refunding,
  disputed::float8 AS disputed, in_dispute::float8 AS "inDispute", held::float8 AS held,
  ${isForTheShop('b.payment_id')} AS "isForTheShop",
  ${paysForNothing('b.payment_id')} AS "paysForNothing"`;

/** The balances of these orders' payments, oldest payment first; payments without money are left out. */
export async function readBalances(
  sql: Queryable,
  orderIds: readonly string[],
): Promise<PaymentBalance[]> {
  if (orderIds.length === 0) return [];
  return sql.rows<PaymentBalance>(
    `SELECT ${COLUMNS} FROM payment_balances b WHERE order_id = ANY ($1::uuid[])
      ORDER BY payment_id, currency`,
    [orderIds],
  );
}
