import { Client } from 'pg';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { inTransaction } from '@app/timeout';
import { FoldStock } from './fold-stock';

interface Counters {
  readonly available: number;
  readonly reserved: number;
  readonly sold: number;
}

let world: World;
beforeAll(async () => {
  world = await openWorld();
  for (const table of ['products', 'unfolded_stock_movements'])
    await world.owner.rows(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
});
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
  world.rows(INSERT, [sku, effect, quantity, times]);
const INSERT = `INSERT INTO unfolded_stock_movements (sku, effect, quantity)
  SELECT $1, $2, $3 FROM generate_series(1, $4)`;
/** Movements that are gone while somebody may still see them. */
const GONE = 6_000;

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

/** As if ten seconds had passed since everything was looked at. */
async function lookAgain(): Promise<void> {
  await world.rows(`UPDATE stock_folding SET seen_at = '-infinity'`);
  await world.get(FoldStock).raiseMark();
}

/** Blocks of movements that are read to find that there are none to fold, in general and for A. */
const blocksToFold = (): Promise<number> =>
  inTransaction(world.dataSource, async (tx) => {
    const read = async (): Promise<number> => {
      const [row] = await tx.rows<{ n: string }>(
        `SELECT sum(pg_stat_get_xact_blocks_fetched(oid)) AS n FROM pg_class
          WHERE relname LIKE 'unfolded_stock_movements%'`,
      );
      return Number(row?.n);
    };
    const before = await read();
    await tx.rows('SELECT fold_stock(0, 250, 2000)');
    await tx.rows(`SELECT fold_stock_of('{A}', 0, 2000)`);
    return (await read()) - before;
  });

/** Rows that the statements of one folding read and throw away, by plans that were just made. */
async function readInVain(plan: 'force_custom_plan' | 'force_generic_plan'): Promise<number> {
  const options = '-c search_path=lastcall -c enable_seqscan=off';
  const client = new Client({ connectionString: world.ownerUrl, options });
  const plans: string[] = [];
  client.on('notice', ({ message = '' }) => plans.push(message));
  await client.connect();
  try {
    await client.query(`LOAD 'auto_explain'`);
    // Generic as after a few calls: it knows neither the products nor how many.
    await client.query(`SET plan_cache_mode = ${plan}`);
    await client.query(
      `SELECT set_config('auto_explain.' || name, value, false)
         FROM (VALUES ('log_min_duration', '0'), ('log_nested_statements', 'on'),
                      ('log_analyze', 'on'), ('log_level', 'notice')) AS options (name, value)`,
    );
    await client.query('SELECT fold_stock(0, 250, 2000)');
  } finally {
    await client.end();
  }
  expect(plans.join('\n')).toContain('Delete on unfolded_stock_movements');
  const inVain = plans.join('\n').matchAll(/Rows Removed by (?:Join )?Filter: (\d+)/g);
  return [...inVain].reduce((sum, [, rows]) => sum + Number(rows), 0);
}

describe('FoldStock', () => {
  it('ends after one statement when it is told to stop, and goes on in another run', async () => {
    await world.rows(
      `INSERT INTO products (sku, name, unit_price, currency, on_hand, available, reserved)
       SELECT 'P-' || n, 'P', 700, 'EUR', 100, 99, 1 FROM generate_series(1, 600) AS n`,
    );
    await world.rows(
      `INSERT INTO unfolded_stock_movements (sku, effect, quantity)
       SELECT 'P-' || n, 'release', 1 FROM generate_series(1, 600) AS n`,
    );
    const { folded } = await world.get(FoldStock).runOnce(() => true);
    expect(folded).toBe(250);
    expect((await unfolded()).length).toBe(350);
    await fold();
    expect(await unfolded()).toEqual([]);
  });

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
    const runner = await beginHeldOpen(world.dataSource);
    await runner.query(`SELECT 1 FROM products WHERE sku = 'B' FOR UPDATE`);
    expect(await fold()).toEqual({ folded: 1 });
    expect(await counters('A')).toMatchObject({ reserved: 9 });
    await runner.rollbackTransaction();
    await runner.release();
    await fold();
    await fold();
    expect(await counters('B')).toMatchObject({ reserved: 300 });
  });

  it('reads nothing of what is gone, with an old snapshot open, and finds what comes late', async () => {
    await product('A', 100);
    await world.rows(`UPDATE products SET on_hand = 10100, reserved = 10100 WHERE sku = 'A'`);
    const snapshot = await beginHeldOpen(world.dataSource, 'REPEATABLE READ');
    const late = await beginHeldOpen(world.dataSource);
    try {
      await snapshot.query('SELECT count(*) FROM products');
      // Numbered before all others, committed after them.
      await late.query(INSERT, ['A', 'release', 1, 1]);
      await append('A', 'release', 1, GONE);
      for (let left = GONE; left > 0;) left -= (await fold()).folded;
      const all = await blocksToFold();
      for (let looked = 0; looked < 2; looked++) await lookAgain();
      expect(await blocksToFold()).toBeLessThan(40);
      // What it would be otherwise: else the test shows nothing.
      expect(all).toBeGreaterThan(100);
      await late.commitTransaction();
      expect(await fold()).toEqual({ folded: 0 });
      await lookAgain();
      expect(await fold()).toEqual({ folded: 1 });
    } finally {
      await snapshot.rollbackTransaction();
      await Promise.all([snapshot.release(), late.release()]);
    }
  });

  // What autovacuum may have found when it last looked: so many movements, of so many products.
  it.each([
    [0, 0],
    [1, 1],
    [700, 700],
    [700, 7],
    [20_000, 1_000],
  ])('reads no movement of others, as if there were %i of %i products', async (found, of) => {
    const products = `SELECT 'P' || i, 'A product', 100, 'EUR', 100, 90, 10
                        FROM generate_series(1, 1000) AS i`;
    await world.rows(
      `INSERT INTO products (sku, name, unit_price, currency, on_hand, available, reserved) ${products}`,
    );
    await world.rows(
      `INSERT INTO unfolded_stock_movements (sku, effect, quantity)
       SELECT 'P' || 1 + i % $2::int, 'release', 1 FROM generate_series(1, $1::int) AS i`,
      [found, of],
    );
    await world.rows('VACUUM ANALYZE unfolded_stock_movements');
    await world.rows('DELETE FROM unfolded_stock_movements');
    await world.rows(
      `INSERT INTO unfolded_stock_movements (sku, effect, quantity)
       SELECT sku, 'release', 1 FROM generate_series(1, 10), products`,
    );
    expect(await readInVain('force_custom_plan')).toBe(0);
    expect(await readInVain('force_generic_plan')).toBe(0);
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

describe('FoldStock, where the table is partitioned', () => {
  let other: World;
  beforeAll(async () => (other = await openWorld()));
  afterAll(() => other?.close());

  it('takes no movement that lies in the same place of another partition', async () => {
    await other.rows('ALTER TABLE unfolded_stock_movements RENAME TO whole');
    await other.rows(
      `CREATE TABLE unfolded_stock_movements (LIKE whole INCLUDING DEFAULTS INCLUDING IDENTITY)
         PARTITION BY LIST (sku);
       CREATE TABLE of_a PARTITION OF unfolded_stock_movements FOR VALUES IN ('A');
       CREATE TABLE of_b PARTITION OF unfolded_stock_movements FOR VALUES IN ('B');
       GRANT SELECT, INSERT, DELETE ON unfolded_stock_movements TO lastcall_app`,
    );
    for (const sku of ['A', 'B']) {
      await insertProduct(other, sku, 100);
      await other.rows('UPDATE products SET reserved = 10, available = 90 WHERE sku = $1', [sku]);
      await other.rows(INSERT, [sku, 'release', 1, 10]);
    }
    await inTransaction(other.dataSource, (tx) => tx.rows(`SELECT fold_stock_of('{A}', 0, 2000)`));
    const left = await other.rows(
      'SELECT sku, count(*)::int FROM unfolded_stock_movements GROUP BY 1',
    );
    expect(left).toEqual([{ sku: 'B', count: 10 }]);
  });
});
