import { insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { FoldStock } from './fold-stock';

interface Counters {
  readonly available: number;
  readonly reserved: number;
  readonly sold: number;
}

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
beforeEach(async () => {
  await world.rows('DELETE FROM stock_movements');
  await world.rows('DELETE FROM unfolded_stock_movements');
  await world.rows('DELETE FROM products');
});

/** A product with 100 pieces: so many reserved and sold of them. */
async function product(sku: string, reserved: number, sold = 0): Promise<void> {
  await insertProduct(world, sku, 100);
  await world.rows(
    `UPDATE products SET reserved = $2, sold = $3, available = 100 - $2::int - $3 WHERE sku = $1`,
    [sku, reserved, sold],
  );
}

const append = (sku: string, effect: string, quantity: number, times = 1) =>
  world.rows(
    `INSERT INTO unfolded_stock_movements (sku, effect, quantity)
     SELECT $1, $2, $3 FROM generate_series(1, $4)`,
    [sku, effect, quantity, times],
  );

const counters = async (sku: string): Promise<Counters | undefined> =>
  (
    await world.rows<Counters>('SELECT available, reserved, sold FROM products WHERE sku = $1', [
      sku,
    ])
  )[0];

const unfolded = async (): Promise<string[]> =>
  (await world.rows<{ sku: string }>('SELECT sku FROM unfolded_stock_movements ORDER BY id')).map(
    ({ sku }) => sku,
  );

const fold = () => world.get(FoldStock).runOnce();

describe('FoldStock', () => {
  it('moves the quantities between the counters, and keeps what it folded', async () => {
    await product('A', 10, 5);
    await append('A', 'release', 3);
    await append('A', 'sell', 4);
    await append('A', 'restock', 2);
    expect(await fold()).toEqual({ folded: 3 });
    expect(await counters('A')).toEqual({ available: 90, reserved: 3, sold: 7 });
    expect(await unfolded()).toEqual([]);
    const kept = await world.rows(
      `SELECT sku, effect, quantity, folded_at >= at AS later FROM stock_movements ORDER BY id`,
    );
    expect(kept).toEqual([
      { sku: 'A', effect: 'release', quantity: 3, later: true },
      { sku: 'A', effect: 'sell', quantity: 4, later: true },
      { sku: 'A', effect: 'restock', quantity: 2, later: true },
    ]);
  });

  it('folds each movement once, however many fold at once', async () => {
    for (let i = 0; i < 20; i++) await product(`P${i}`, 100);
    for (let i = 0; i < 20; i++) await append(`P${i}`, 'release', 1, 100);
    const runs = await Promise.all(Array.from({ length: 5 }, fold));
    const later = await fold();
    expect(runs.reduce((sum, { folded }) => sum + folded, later.folded)).toBe(2_000);
    expect(await counters('P7')).toEqual({ available: 100, reserved: 0, sold: 0 });
  });

  it('leaves the product whose row somebody holds for later', async () => {
    await product('A', 10);
    await product('B', 10);
    await append('B', 'release', 1, 600);
    await append('A', 'release', 1);
    await world.rows(
      `UPDATE products SET on_hand = 1000, available = 100, reserved = 900 WHERE sku = 'B'`,
    );
    const runner = world.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query(`SELECT 1 FROM products WHERE sku = 'B' FOR UPDATE`);
    expect(await fold()).toEqual({ folded: 1 });
    expect(await counters('A')).toMatchObject({ reserved: 9 });
    await runner.rollbackTransaction();
    await runner.release();
    await fold();
    await fold();
    expect(await counters('B')).toMatchObject({ reserved: 300 });
  });

  it('leaves what does not fit its product, and no other', async () => {
    await product('A', 10);
    await product('WRONG', 1);
    await append('WRONG', 'release', 2);
    await append('A', 'sell', 10);
    expect(await fold()).toEqual({ folded: 1 });
    expect(await counters('A')).toEqual({ available: 90, reserved: 0, sold: 10 });
    expect(await unfolded()).toEqual(['WRONG']);
  });
});
