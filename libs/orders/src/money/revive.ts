import type { Transaction } from '@app/timeout';
import type { OrderGuard } from '../order/order-guard';
import {
  foldWhereShort,
  type LockedProduct,
  lockProducts,
  reserve,
  sumBySku,
  shortOf,
  takeAll,
  waitForProducts,
} from '../stock/products';

interface OrderLine {
  readonly sku: string;
  readonly quantity: number;
}

/** The stock of closed orders that may be paid after all; the products that nobody else has locked are ours. */
export interface StockToRevive {
  readonly products: ReadonlyMap<string, LockedProduct>;
  readonly linesOf: ReadonlyMap<string, readonly OrderLine[]>;
  /** Orders that want a product whose row somebody else holds. */
  readonly busy: ReadonlySet<string>;
}

/**
 * Locks the products of these orders.
 * @param waits for who holds one; else such orders are busy
 */
export async function lockStockOf(
  tx: Transaction,
  orderIds: readonly string[],
  { waits = false }: { readonly waits?: boolean } = {},
): Promise<StockToRevive> {
  const linesOf = new Map<string, OrderLine[]>(orderIds.map((id) => [id, []]));
  if (orderIds.length === 0) return { products: new Map(), linesOf, busy: new Set() };
  const lines = await tx.rows<OrderLine & { order_id: string }>(
    'SELECT order_id, sku, quantity FROM order_items WHERE order_id = ANY ($1::uuid[])',
    [[...linesOf.keys()]],
  );
  for (const { order_id, sku, quantity } of lines) linesOf.get(order_id)?.push({ sku, quantity });
  const wanted = sumBySku(lines);
  if (waits) await waitForProducts(tx, [...wanted.keys()]);
  const { products, heldElsewhere } = await lockProducts(tx, [...wanted.keys()]);
  await foldWhereShort(tx, products, wanted);
  const isBusy = (id: string): boolean =>
    linesOf.get(id)?.some(({ sku }) => heldElsewhere.has(sku)) ?? false;
  return { products, linesOf, busy: new Set(orderIds.filter(isBusy)) };
}

/**
 * Reserves all of an order's lines again, here and in the host's own stock, or nothing: then it answers
 * with a SKU that is short.
 */
export async function reserveAgain(
  tx: Transaction,
  { products, linesOf }: StockToRevive,
  orderId: string,
  guard: OrderGuard,
): Promise<string | undefined> {
  const lines = linesOf.get(orderId) ?? [];
  const short = shortOf(products, lines);
  if (short !== undefined) return short;
  const theirs = lines.map((line) => ({ ...line, orderId }));
  // Last asked, and first to have reserved: what follows cannot fail, as the products are locked.
  if (!(await guard.reserveAgain(tx, theirs))) return lines[0]?.sku;
  takeAll(products, lines);
  await reserve(tx, sumBySku(lines));
  return undefined;
}
