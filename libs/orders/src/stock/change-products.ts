import type { Transaction } from '@app/timeout';
import { LastcallError } from '../order/errors';
import type { Accountable } from '../order/operator-action';
import { foldLocked } from './fold-stock';
import { MAX_COUNTED, MAX_STOCK, type ProductToPut } from './product-rules';
import { waitForProducts } from './products';

/** Who changes products, and why where they say it. */
export type ProductEditor = Pick<Accountable, 'actor'> & { readonly reason?: string | undefined };

/** What of a product anybody may change. */
type ProductFact = Exclude<keyof ProductToPut, 'sku' | 'available'>;

/**
 * Creates products, without stock, and changes those that there are, but for what they are to keep; what is
 * the same already is left alone. Orders that are placed keep their prices: each line has its own.
 * @returns the SKUs that were created, and those that were changed
 */
export async function putProducts(
  tx: Transaction,
  products: readonly ProductToPut[],
  { actor, reason }: ProductEditor,
  kept: readonly ProductFact[] = [],
): Promise<{ readonly created: string[]; readonly updated: string[] }> {
  const rows = await tx.rows<{ sku: string; created: boolean }>(
    `WITH put AS (
       INSERT INTO products AS p (sku, name, unit_price, currency, on_hand, available)
       SELECT sku, name, unit_price, currency, 0, 0
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
           AS given (sku, name, unit_price, currency)
        ORDER BY sku COLLATE "C"
       ON CONFLICT (sku) DO UPDATE
          SET name = CASE WHEN $7 THEN p.name ELSE excluded.name END,
              unit_price = CASE WHEN $8 THEN p.unit_price ELSE excluded.unit_price END,
              currency = CASE WHEN $9 THEN p.currency ELSE excluded.currency END
        WHERE NOT $7 AND p.name <> excluded.name
           OR NOT $8 AND p.unit_price <> excluded.unit_price
           OR NOT $9 AND p.currency <> excluded.currency
       RETURNING p.*, p.xmax = 0 AS created
     ), kept AS (
       INSERT INTO product_changes (sku, actor, action, reason, name, unit_price, currency)
       SELECT sku, $5, CASE WHEN created THEN 'created' ELSE 'updated' END, $6, name, unit_price,
              currency FROM put
     )
     SELECT sku, created FROM put`,
    [
      products.map(({ sku }) => sku),
      products.map(({ name }) => name),
      products.map(({ unitPrice }) => unitPrice),
      products.map(({ currency }) => currency),
      actor,
      reason ?? null,
      ...(['name', 'unitPrice', 'currency'] as const).map((fact) => kept.includes(fact)),
    ],
  );
  const those = (wanted: boolean): string[] =>
    rows.filter(({ created }) => created === wanted).map(({ sku }) => sku);
  return { created: those(true), updated: those(false) };
}

/** A change of what is there: by so many pieces, or to so many that can be ordered. */
export type StockChange = { readonly sku: string } & (
  { readonly delta: number } | { readonly available: number }
);

/**
 * Changes the stock of products under the locks of their rows, after what orders released or bought
 * meanwhile is folded in: so it is counted from what is true, and nobody reserves in between. What
 * is reserved or sold stays with its orders.
 * @returns how many products have another stock now
 * @throws {LastcallError} product_not_found; stock_out_of_range when less is left than should go, or there
 * would be more than is counted
 */
export async function changeStock(
  tx: Transaction,
  changes: readonly StockChange[],
  { actor, reason }: Accountable,
): Promise<number> {
  if (changes.length === 0) return 0;
  const skus = changes.map(({ sku }) => sku);
  await waitForProducts(tx, skus);
  const availableNow = await foldLocked(tx, skus);
  const deltas = changes.map((change) => {
    const now = availableNow.get(change.sku);
    if (now === undefined) throw productNotFound(change.sku);
    const delta = 'delta' in change ? change.delta : change.available - now;
    if (now + delta < 0) throw tooLittle(change.sku, now, delta);
    return delta;
  });
  const changed = await tx.rows<{ sku: string }>(
    `WITH changed AS (
       UPDATE products p SET on_hand = on_hand + delta, available = available + delta
         FROM unnest($1::text[], $2::int[]) AS given (sku, delta)
        WHERE p.sku = given.sku AND delta <> 0
          AND p.available::bigint + delta >= 0
          AND (delta < 0 OR p.available::bigint + delta <= $5 AND p.on_hand::bigint + delta <= $6)
       RETURNING p.sku, delta, p.available
     ), kept AS (
       INSERT INTO product_changes (sku, actor, action, reason, delta, available)
       SELECT sku, $3, 'stock', $4, delta, available FROM changed
     )
     SELECT sku FROM changed`,
    [skus, deltas, actor, reason, MAX_STOCK, MAX_COUNTED],
  );
  if (changed.length === deltas.filter((delta) => delta !== 0).length) return changed.length;
  const done = new Set(changed.map(({ sku }) => sku));
  const [refused] = skus.filter((sku, i) => deltas[i] !== 0 && !done.has(sku));
  throw new LastcallError(
    'stock_out_of_range',
    `"${refused}" would have more pieces than can be counted: at most ${MAX_STOCK} that can be ` +
      `ordered, and ${MAX_COUNTED} with those of all its orders`,
    { sku: refused, max: MAX_STOCK },
  );
}

export function productNotFound(sku: string): LastcallError {
  return new LastcallError('product_not_found', `There is no product "${sku}"`);
}

function tooLittle(sku: string, available: number, delta: number): LastcallError {
  return new LastcallError(
    'stock_out_of_range',
    `Only ${available} of "${sku}" are left to take away, and this takes ${-delta}; the rest belongs to orders`,
    { sku, available },
  );
}
