import { isLockTimeout, queryRows, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import type { Page } from '../order/page';
import { foldLocked } from './fold-stock';

export interface ProductView {
  readonly sku: string;
  readonly name: string;
  /** Minor units of `currency`. */
  readonly unitPrice: number;
  readonly currency: string;
  readonly available: number;
}

/** The most products that the public list answers with at once, and as many where nobody says. */
export const MAX_LISTED_PRODUCTS = 1_000;

@Injectable()
export class ListProducts {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /** By SKU; `cursor` is the last SKU of the page before. A page costs the same wherever it begins. */
  async list(
    filter: { readonly limit?: number | undefined; readonly cursor?: string | undefined } = {},
  ): Promise<Page<ProductView>> {
    const { limit = MAX_LISTED_PRODUCTS, cursor = '' } = filter;
    const rows = await queryRows<ProductView & { unitPrice: string }>(
      this.dataSource,
      `SELECT sku, name, unit_price AS "unitPrice", currency, available
         FROM products WHERE sku > $1 ORDER BY sku LIMIT $2`,
      [cursor, limit + 1],
    );
    const items = rows.slice(0, limit).map((row) => ({ ...row, unitPrice: Number(row.unitPrice) }));
    return { items, nextCursor: rows.length > limit ? (items.at(-1)?.sku ?? null) : null };
  }
}

/** A product while its row is locked: nobody else can reserve it before we commit. */
export interface LockedProduct {
  readonly sku: string;
  readonly unitPrice: number;
  readonly currency: string;
  available: number;
}

export interface LockedProducts {
  readonly products: ReadonlyMap<string, LockedProduct>;
  /** Products that there are, and whose row somebody else has locked. */
  readonly heldElsewhere: ReadonlySet<string>;
}

/**
 * Locks the rows of products, but for those that somebody holds: it waits for nobody, so whoever
 * holds a row, a merchant in the middle of an update, keeps nobody who does not need it.
 */
export async function lockProducts(
  tx: Transaction,
  skus: readonly string[],
): Promise<LockedProducts> {
  const rows = await tx.hot<LockedProduct & { unitPrice: string }>(
    `SELECT sku, unit_price AS "unitPrice", currency, available FROM products
      WHERE sku = ANY ($1::text[]) FOR NO KEY UPDATE SKIP LOCKED`,
    [skus],
  );
  const products = new Map(
    rows.map((row) => [row.sku, { ...row, unitPrice: Number(row.unitPrice) }]),
  );
  const missing = skus.filter((sku) => !products.has(sku));
  if (missing.length === 0) return { products, heldElsewhere: new Set() };
  const there = await tx.hot<{ sku: string }>(
    'SELECT sku FROM products WHERE sku = ANY ($1::text[])',
    [missing],
  );
  return { products, heldElsewhere: new Set(there.map(({ sku }) => sku)) };
}

/** Waits for who holds one of these products' rows, until they are ours. */
export async function waitForProducts(tx: Transaction, skus: readonly string[]): Promise<void> {
  await tx.rows(
    `SELECT FROM products WHERE sku = ANY ($1::text[])
      ORDER BY sku COLLATE "C" FOR NO KEY UPDATE`,
    [skus],
  );
}

/** Far longer than a commit takes, of several who have it before us. */
const TURN_WITHIN_MS = 250;
/** Sets back what it has set: releasing a savepoint does not. */
const WAIT_IN_TURN = `
  WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_wait),
       limited AS MATERIALIZED (
         SELECT lock_wait, set_config('lock_timeout', '${TURN_WITHIN_MS}ms', true) FROM before),
       held AS MATERIALIZED (
         SELECT lock_wait FROM limited, products WHERE sku = $1 FOR NO KEY UPDATE OF products)
  SELECT set_config('lock_timeout', lock_wait, true) FROM held`;

/**
 * Waits for a product for as long as others may have it who want it for milliseconds, as we do; then we hold it.
 * False where somebody keeps it.
 */
export async function waitInTurn(tx: Transaction, sku: string): Promise<boolean> {
  try {
    await tx.attempt((part) => part.hot(WAIT_IN_TURN, [sku]));
    return true;
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return false;
  }
}

/** Where a product is short, what was released of it and waits to be folded is folded at once. */
export async function foldWhereShort(
  tx: Transaction,
  products: ReadonlyMap<string, LockedProduct>,
  wanted: ReadonlyMap<string, number>,
): Promise<void> {
  const short = [...wanted]
    .filter(([sku, quantity]) => quantity > (products.get(sku)?.available ?? quantity))
    .map(([sku]) => sku);
  if (short.length === 0) return;
  // Before the movements, as closers do, whose orders they are of: who rewinds the history locks both tables.
  await tx.rows('LOCK TABLE orders IN ROW EXCLUSIVE MODE');
  for (const [sku, available] of await foldLocked(tx, short)) {
    (products.get(sku) as LockedProduct).available = available;
  }
}

/** The first of these lines of which there is not enough. */
export function shortOf(
  products: ReadonlyMap<string, LockedProduct>,
  lines: readonly { sku: string; quantity: number }[],
): string | undefined {
  return lines.find((line) => (products.get(line.sku)?.available ?? 0) < line.quantity)?.sku;
}

/**
 * Takes lines of which there is enough: {@link shortOf} finds none. Works on rows held by
 * {@link lockProducts}; {@link reserve} writes what was taken.
 */
export function takeAll(
  products: ReadonlyMap<string, LockedProduct>,
  lines: readonly { sku: string; quantity: number }[],
): void {
  for (const line of lines) (products.get(line.sku) as LockedProduct).available -= line.quantity;
}

/** Moves quantities from available to reserved, conditionally: stock is never oversold. */
export async function reserve(
  tx: Transaction,
  quantities: ReadonlyMap<string, number>,
): Promise<void> {
  if (quantities.size === 0) return;
  const skus = [...quantities.keys()];
  const reserved = await tx.hot(
    `UPDATE products p SET available = p.available - r.quantity, reserved = p.reserved + r.quantity
       FROM unnest($1::text[], $2::int[]) AS r (sku, quantity)
      WHERE p.sku = r.sku AND p.available >= r.quantity
     RETURNING 1`,
    [skus, [...quantities.values()]],
  );
  if (reserved.length !== skus.length) {
    throw new Error('Stock that was locked is gone: the lock did not hold');
  }
}

/** The quantities of many lines, summed per SKU. */
export function sumBySku(lines: Iterable<{ sku: string; quantity: number }>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { sku, quantity } of lines) sums.set(sku, (sums.get(sku) ?? 0) + quantity);
  return sums;
}
