import { inTransaction, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { trying } from '../order/advisory-locks';
import { DATABASE } from '../data-source';
import { LastcallError } from '../order/errors';
import type { Accountable } from '../order/operator-action';
import { onDataSource, type Queryable } from '../order/order-rows';
import { PaymentProviders } from '../providers/payment-providers';
import { changeStock, putProducts } from '../stock/change-products';
import { complaintsOf, type ProductToPut } from '../stock/product-rules';

/** A product, and where in its file it stands. */
export interface ProductLine extends ProductToPut {
  readonly line: number;
}

export interface LineComplaint {
  readonly line: number;
  readonly message: string;
}

export interface ImportCounts {
  readonly created: number;
  readonly updated: number;
  /** Of those that were there: whose number of pieces changes. */
  readonly restocked: number;
  readonly unchanged: number;
}

/** Products of one statement: well below its time limit. */
const BATCH = 5_000;

/** Takes in a list of products, all of it or nothing. */
@Injectable()
export class ImportProducts {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly providers: PaymentProviders,
  ) {}

  /** What is wrong with these lines, in their order; an import refuses them as a whole. */
  check(lines: readonly ProductLine[]): LineComplaint[] {
    const [provider] = this.providers.all;
    const firstLines = new Map<string, number>();
    return lines.flatMap((product) => {
      const { line, sku } = product;
      const complaints = complaintsOf(product, (currency) => provider.takes(currency));
      const first = firstLines.get(sku);
      if (first !== undefined) complaints.push(`sku "${sku}" stands in line ${first} already`);
      else firstLines.set(sku, line);
      return complaints.map((message) => ({ line, message }));
    });
  }

  /** What {@link run} would change now; locks nothing and changes nothing. */
  async plan(lines: readonly ProductLine[]): Promise<ImportCounts> {
    const sql = onDataSource(this.dataSource);
    const counts = { created: 0, updated: 0, restocked: 0, unchanged: 0 };
    for (const batch of batchesOf(lines)) {
      for (const { isNew, isOther, isRestocked } of await compare(sql, batch)) {
        if (isNew) counts.created += 1;
        else if (isOther) counts.updated += 1;
        if (isRestocked && !isNew) counts.restocked += 1;
        if (!isNew && !isOther && !isRestocked) counts.unchanged += 1;
      }
    }
    return counts;
  }

  /**
   * One transaction, so that nobody ever sees a half: it holds the products that it changes, and no
   * others, until its end. Orders for those wait meanwhile, or hear `busy`.
   * @param onProgress how many lines are through
   * @param signal undoes it all when it aborts
   * @throws {LastcallError} invalid_request for lines that {@link check} complains about; busy while
   * another import runs
   */
  async run(
    lines: readonly ProductLine[],
    accountable: Accountable,
    { onProgress, signal }: { onProgress?: (done: number) => void; signal?: AbortSignal } = {},
  ): Promise<ImportCounts> {
    const [wrong] = this.check(lines);
    if (wrong) throw new LastcallError('invalid_request', `line ${wrong.line}: ${wrong.message}`);
    return inTransaction(this.dataSource, async (tx) => {
      await takeTurn(tx);
      const counts = { created: 0, updated: 0, restocked: 0, unchanged: 0 };
      let done = 0;
      for (const batch of batchesOf(lines)) {
        signal?.throwIfAborted();
        const differing = await compare(tx, batch);
        const other = differing.flatMap(({ product, isNew, isOther }) =>
          isNew || isOther ? [product] : [],
        );
        const { created, updated } = await putProducts(tx, other, accountable);
        const isNew = new Set(created);
        const stocked = differing.flatMap(({ product: { sku, available }, isRestocked }) =>
          isRestocked && available !== undefined ? [{ sku, available }] : [],
        );
        await changeStock(tx, stocked, accountable);
        const restocked = stocked.filter(({ sku }) => !isNew.has(sku));
        counts.created += created.length;
        counts.updated += updated.length;
        counts.restocked += restocked.length;
        counts.unchanged += differing.filter(isSame).length;
        done += batch.length;
        onProgress?.(done);
      }
      return counts;
    });
  }
}

async function takeTurn(tx: Transaction): Promise<void> {
  // Not under the API's name: closing would give way to it as to customers who wait.
  await tx.rows(`SELECT set_config('application_name', 'lastcall import', true)`);
  const [turn] = await tx.rows<{ taken: boolean }>(`SELECT ${trying('importProducts')} AS taken`);
  if (!turn?.taken) {
    throw new LastcallError('busy', 'Another import of products is running; try again after it');
  }
}

interface Compared {
  readonly product: ProductLine;
  readonly isNew: boolean;
  /** Name, price or currency are not as in the list. */
  readonly isOther: boolean;
  readonly isRestocked: boolean;
}

const isSame = ({ isNew, isOther, isRestocked }: Compared): boolean =>
  !isNew && !isOther && !isRestocked;

/** How each line differs from what there is: only those products need to be held. */
async function compare(sql: Queryable, batch: readonly ProductLine[]): Promise<Compared[]> {
  const rows = await sql.rows<{
    sku: string;
    name: string;
    unit_price: string;
    currency: string;
    available: number;
    moving: boolean;
  }>(
    `SELECT sku, name, unit_price, currency, available,
            EXISTS (SELECT FROM unfolded_stock_movements u WHERE u.sku = p.sku) AS moving
       FROM products p WHERE sku = ANY ($1::text[])`,
    [batch.map(({ sku }) => sku)],
  );
  const there = new Map(rows.map((row) => [row.sku, row]));
  return batch.map((product) => {
    const row = there.get(product.sku);
    const { available } = product;
    if (!row) return { product, isNew: true, isOther: false, isRestocked: Boolean(available) };
    return {
      product,
      isNew: false,
      isOther:
        row.name !== product.name ||
        Number(row.unit_price) !== product.unitPrice ||
        row.currency !== product.currency,
      // What moves just now may make it the same, or another: that is seen under its lock.
      isRestocked: available !== undefined && (row.moving || available !== row.available),
    };
  });
}

function* batchesOf(lines: readonly ProductLine[]): Generator<readonly ProductLine[]> {
  for (let from = 0; from < lines.length; from += BATCH) yield lines.slice(from, from + BATCH);
}
