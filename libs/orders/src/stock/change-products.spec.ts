import { inTransaction } from '@app/timeout';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { ImportProducts } from '../ops/import-products';
import { PaymentProviders } from '../providers/payment-providers';
import { changeStock } from './change-products';
import { FoldStock } from './fold-stock';
import { MAX_COUNTED, MAX_STOCK } from './product-rules';

/** More than one statement of FoldStock folds. */
const MANY = 2_500;
const STOCKTAKING = { actor: 'mia', reason: 'stocktaking' };

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
beforeEach(async () => {
  await world.rows('DELETE FROM unfolded_stock_movements');
});

/** An overdue order of one piece for each of so many products, which have no other piece. */
async function overdueOrderOfEach(products: number): Promise<void> {
  const orders = await insertOrders(world, { count: products, closesInMs: -1_000 });
  await world.rows(
    `INSERT INTO products (sku, name, unit_price, currency, on_hand, available, reserved)
     SELECT 'P-' || n, 'P', 500, 'EUR', 1, 0, 1 FROM generate_series(1, $1::int) AS n`,
    [products],
  );
  await world.rows(
    `UPDATE order_items i SET sku = 'P-' || n
       FROM unnest($1::uuid[]) WITH ORDINALITY AS o (id, n) WHERE i.order_id = o.id`,
    [orders.map(({ id }) => id)],
  );
}

const availableNow = (like: string) =>
  world.rows(
    'SELECT available, count(*)::int AS products FROM products WHERE sku LIKE $1 GROUP BY 1',
    [like],
  );

describe('setting the stock', () => {
  it('counts all that orders have given back, however much of it waits', async () => {
    await overdueOrderOfEach(MANY);
    await world.timeouts.runSweep();
    expect(await world.rows('SELECT count(*)::int AS n FROM unfolded_stock_movements')).toEqual([
      { n: MANY },
    ]);
    const importing = new ImportProducts(world.dataSource, world.get(PaymentProviders));
    const lines = Array.from({ length: MANY }, (_, n) => ({
      ...{ line: n + 1, sku: `P-${n + 1}`, name: 'P', unitPrice: 500, currency: 'EUR' },
      available: 5,
    }));
    await importing.run(lines, STOCKTAKING);
    await world.get(FoldStock).runOnce();
    expect(await availableNow('P-%')).toEqual([{ available: 5, products: MANY }]);
  });

  it('counts them also beside a product whose books are wrong, and whose own stay', async () => {
    for (const sku of ['WRONG', 'RIGHT']) {
      await insertProduct(world, sku, 1);
      await world.rows('UPDATE products SET available = 0, reserved = 1 WHERE sku = $1', [sku]);
    }
    await world.rows(
      `INSERT INTO unfolded_stock_movements (sku, effect, quantity)
       SELECT 'WRONG', 'release', 1 FROM generate_series(1, $1::int)
       UNION ALL SELECT 'RIGHT', 'release', 1`,
      [MANY],
    );
    const wanted = ['WRONG', 'RIGHT'].map((sku) => ({ sku, available: 5 }));
    await inTransaction(world.dataSource, (tx) => changeStock(tx, wanted, STOCKTAKING));
    await world.get(FoldStock).runOnce();
    expect(await availableNow('RIGHT')).toEqual([{ available: 5, products: 1 }]);
  });

  const importing = (available: number) =>
    new ImportProducts(world.dataSource, world.get(PaymentProviders)).run(
      [{ line: 1, sku: 'MANY', name: 'P', unitPrice: 500, currency: 'EUR', available }],
      STOCKTAKING,
    );
  const counts = (set: string) => world.rows(`UPDATE products SET ${set} WHERE sku = 'MANY'`);
  const byOne = (delta: number) =>
    inTransaction(world.dataSource, (tx) => changeStock(tx, [{ sku: 'MANY', delta }], STOCKTAKING));

  it('sets the most that a product may have again once some of it is sold', async () => {
    await importing(MAX_STOCK);
    await counts('available = available - 3, reserved = 2, sold = 1');
    expect(await importing(MAX_STOCK)).toMatchObject({ restocked: 1 });
    expect(await availableNow('MANY')).toEqual([{ available: MAX_STOCK, products: 1 }]);
    await expect(byOne(1)).rejects.toMatchObject({ code: 'stock_out_of_range' });
    // What comes back of an order is there beside the most that a delivery may bring.
    await counts('available = available + 1, sold = sold - 1');
    expect(await byOne(-1)).toBe(1);
  });

  it('refuses what its columns cannot count together with all that was ever sold', async () => {
    await importing(0);
    await counts(
      `available = 0, reserved = 0, sold = ${MAX_COUNTED - 1}, on_hand = ${MAX_COUNTED - 1}`,
    );
    expect(await byOne(1)).toBe(1);
    await expect(byOne(1)).rejects.toMatchObject({ code: 'stock_out_of_range' });
    await expect(importing(MAX_STOCK)).rejects.toMatchObject({ code: 'stock_out_of_range' });
  });
});
