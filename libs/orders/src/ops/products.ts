import { inTransaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { LastcallError } from '../order/errors';
import type { Accountable } from '../order/operator-action';
import { onDataSource, type Queryable } from '../order/order-rows';
import type { Page } from '../order/page';
import { PaymentProviders } from '../providers/payment-providers';
import {
  changeStock,
  type ProductEditor,
  productNotFound,
  putProducts,
} from '../stock/change-products';
import type { ProductToPut } from '../stock/product-rules';

/** A product with its books: `onHand` = `available` + `reserved` + `sold`. */
export interface ProductEntry {
  readonly sku: string;
  readonly name: string;
  /** Minor units of `currency`. */
  readonly unitPrice: number;
  readonly currency: string;
  /** Can be ordered. */
  readonly available: number;
  /** Held by unpaid orders. */
  readonly reserved: number;
  /** Belongs to orders that are paid, shipped ones included. */
  readonly sold: number;
  readonly onHand: number;
}

export interface ProductChange {
  readonly at: string;
  readonly action: 'created' | 'updated' | 'stock';
  readonly actor: string;
  readonly reason: string | null;
  /** As it was from then on; null for a change of stock. */
  readonly name: string | null;
  readonly unitPrice: number | null;
  readonly currency: string | null;
  /** Pieces that came (or went, when negative), and how many could be ordered then. */
  readonly delta: number | null;
  readonly available: number | null;
}

export interface ProductDetails extends ProductEntry {
  /** Newest first. */
  readonly changes: readonly ProductChange[];
}

const ENTRY = `sku, name, unit_price::float8 AS "unitPrice", currency, available, reserved, sold,
  on_hand AS "onHand"`;
const MAX_CHANGES = 50;

/** Products as merchants see them. */
@Injectable()
export class ReadProducts {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /** By SKU; `cursor` is the last SKU of the page before. */
  async list(filter: {
    readonly limit: number;
    readonly cursor?: string | undefined;
  }): Promise<Page<ProductEntry>> {
    const rows = await onDataSource(this.dataSource).rows<ProductEntry>(
      `SELECT ${ENTRY} FROM products WHERE sku > $1 ORDER BY sku LIMIT $2`,
      [filter.cursor ?? '', filter.limit + 1],
    );
    const items = rows.slice(0, filter.limit);
    return { items, nextCursor: rows.length > filter.limit ? (items.at(-1)?.sku ?? null) : null };
  }

  /** @throws {LastcallError} product_not_found */
  read(sku: string): Promise<ProductDetails> {
    return readDetails(onDataSource(this.dataSource), sku);
  }
}

/** A merchant creates a product or gives it another name or price. */
@Injectable()
export class PutProduct {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly providers: PaymentProviders,
  ) {}

  /**
   * New orders are placed at the new price; those that were placed keep theirs.
   * @param kept what a product that there is keeps: who changes its name has its price from before
   * @throws {LastcallError} currency_not_supported: nobody could pay for it
   */
  async put(
    product: Omit<ProductToPut, 'available'>,
    editor: ProductEditor,
    kept: readonly ('name' | 'unitPrice' | 'currency')[] = [],
  ): Promise<{ readonly product: ProductDetails; readonly created: boolean }> {
    const [provider] = this.providers.all;
    if (product.unitPrice > 0 && !provider.takes(product.currency)) {
      throw new LastcallError(
        'currency_not_supported',
        `${provider.name} takes no payments in ${product.currency}`,
        { currency: product.currency },
      );
    }
    return inTransaction(this.dataSource, async (tx) => {
      const { created } = await putProducts(tx, [product], editor, kept);
      return { product: await readDetails(tx, product.sku), created: created.length > 0 };
    });
  }
}

/** A merchant says that pieces came in or are gone. */
@Injectable()
export class AdjustStock {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /**
   * @param delta pieces that came; negative: that are gone, of those that no order has
   * @throws {LastcallError} product_not_found, stock_out_of_range, busy
   */
  async adjust(sku: string, delta: number, accountable: Accountable): Promise<ProductDetails> {
    return inTransaction(this.dataSource, async (tx) => {
      await changeStock(tx, [{ sku, delta }], accountable);
      return readDetails(tx, sku);
    });
  }
}

async function readDetails(sql: Queryable, sku: string): Promise<ProductDetails> {
  const [product] = await sql.rows<ProductEntry>(`SELECT ${ENTRY} FROM products WHERE sku = $1`, [
    sku,
  ]);
  if (!product) throw productNotFound(sku);
  const changes = await sql.rows<ProductChange & { at: Date }>(
    `SELECT at, action, actor, reason, name, unit_price::float8 AS "unitPrice", currency, delta,
            available
       FROM product_changes WHERE sku = $1 ORDER BY id DESC LIMIT $2`,
    [sku, MAX_CHANGES],
  );
  return {
    ...product,
    changes: changes.map((change) => ({ ...change, at: change.at.toISOString() })),
  };
}
