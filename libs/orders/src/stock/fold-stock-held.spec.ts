import { Client } from 'pg';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { countStatements } from '../../../../test/support/count-statements';
import { insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { LIMITS } from '../data-source';
import { FoldStock } from './fold-stock';

/** A merchant's UPDATE of a catalogue has not ended while a herd gives back what it sells. */
describe('FoldStock, beside somebody who holds a thousand products', () => {
  const PRODUCTS = 1_000;
  /** Twice what the lanes look at by small statements, and more. */
  const OF_EACH = 20;
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());
  beforeEach(async () => {
    await world.rows('DELETE FROM unfolded_stock_movements');
    await world.rows('DELETE FROM products');
    await world.rows(
      `INSERT INTO products (sku, name, unit_price, currency, on_hand, available, reserved)
       SELECT 'P-' || n, 'P', 700, 'EUR', 100, 0, 100 FROM generate_series(1, $1::int) AS n`,
      [PRODUCTS],
    );
    await append(OF_EACH);
  });

  const append = (times: number) =>
    world.rows(
      `INSERT INTO unfolded_stock_movements (sku, effect, quantity)
       SELECT sku, 'release', 1 FROM generate_series(1, $1::int), products`,
      [times],
    );
  const left = async (): Promise<number> => {
    const [row] = await world.rows<{ n: number }>(
      'SELECT count(*)::int AS n FROM unfolded_stock_movements',
    );
    return row?.n ?? 0;
  };
  const hold = async () => {
    const merchant = await beginHeldOpen(world.dataSource);
    await merchant.query('SELECT FROM products FOR UPDATE');
    return async () => {
      await merchant.rollbackTransaction();
      await merchant.release();
    };
  };
  /** By a clock that each statement advances by so much. */
  function foldingBy(statementMs: number) {
    let nowMs = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const { dataSource, statements } = countStatements(world.drainDataSource, () => {
      nowMs += statementMs;
    });
    return { stock: new FoldStock(dataSource), statements, pass: (ms: number) => (nowMs += ms) };
  }
  afterEach(() => jest.restoreAllMocks());

  it('folds what lies behind all that is held, run by run', async () => {
    // More than a run has statements for.
    await append(50);
    const letGo = await hold();
    try {
      await insertProduct(world, 'FREE', 100);
      await world.rows(`UPDATE products SET reserved = 1, available = 99 WHERE sku = 'FREE'`);
      await world.rows(
        `INSERT INTO unfolded_stock_movements (sku, effect, quantity) VALUES ('FREE', 'release', 1)`,
      );
      const { stock } = foldingBy(10);
      let folded = 0;
      for (let run = 0; run < 10 && folded === 0; run++) folded += (await stock.runOnce()).folded;
      expect(folded).toBe(1);
      const [free] = await world.rows(`SELECT reserved FROM products WHERE sku = 'FREE'`);
      expect(free).toEqual({ reserved: 0 });
    } finally {
      await letGo();
    }
  });

  it('looks at it for a while, then rests, and never takes that for being behind', async () => {
    const letGo = await hold();
    try {
      const { stock, statements, pass } = foldingBy(10);
      for (let run = 0; run < 10 && !stock.isResting; run++) {
        const before = statements.ended;
        await stock.runOnce();
        // The mark, one alone, and of two lanes less than 80 ms more; each statement takes 10.
        expect(statements.ended - before).toBeLessThan(15);
      }
      expect(stock.isBehind).toBe(false);
      expect(stock.isResting).toBe(true);
      // Three times as long as it may look at what others hold.
      pass(240);
      expect(stock.isResting).toBe(false);
    } finally {
      await letGo();
    }
  });

  it('looks by one lane and at many at once where all is held', async () => {
    const letGo = await hold();
    try {
      const { stock, statements } = foldingBy(0);
      await stock.runOnce();
      // The mark and one alone, nineteen more of each lane, and by large ones of one lane the rest.
      const rest = PRODUCTS * OF_EACH - 20 * 250;
      expect(statements.ended).toBe(2 + 2 * 19 + Math.ceil(rest / 4_000));
    } finally {
      await letGo();
    }
  });

  it('folds all by both lanes once it is let go', async () => {
    const { stock, statements } = foldingBy(0);
    const letGo = await hold();
    try {
      await stock.runOnce();
    } finally {
      await letGo();
    }
    const before = statements.ended;
    statements.atOnce = 0;
    // A large one that is not in vain, a small one alone, and one of each lane.
    await stock.runOnce(() => statements.ended >= before + 4);
    expect(statements.atOnce).toBe(2);
    // What one lane finds the other at, it leaves to the next run.
    for (let run = 0; run < 3 && (await left()) > 0; run++) await stock.runOnce();
    expect(await left()).toBe(0);
    const [sum] = await world.rows('SELECT sum(reserved)::int AS reserved FROM products');
    expect(sum).toEqual({ reserved: PRODUCTS * (100 - OF_EACH) });
  });

  it('folds what lies before the place where the last run was told to stop', async () => {
    const { stock, statements } = foldingBy(0);
    const letGo = await hold();
    try {
      await stock.runOnce(() => statements.ended >= 10);
    } finally {
      await letGo();
    }
    // All behind that place is gone: by another process.
    await world.rows(
      `DELETE FROM unfolded_stock_movements WHERE id > (SELECT min(id) + 500 FROM unfolded_stock_movements)`,
    );
    await stock.runOnce();
    expect(await left()).toBe(0);
  });

  it('rests after no run that has folded to its end', async () => {
    const { stock } = foldingBy(10);
    while ((await left()) > 0) {
      await stock.runOnce();
      expect(stock.isResting).toBe(false);
    }
  });
});

describe('FoldStock, beside somebody who has locked the folded movements', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());

  it('keeps no product from those who want it', async () => {
    await insertProduct(world, 'A', 100);
    await world.rows('UPDATE products SET reserved = 1, available = 99');
    await world.rows(
      `INSERT INTO unfolded_stock_movements (sku, effect, quantity) VALUES ('A', 'release', 1)`,
    );
    const operator = new Client({ connectionString: world.ownerUrl });
    await operator.connect();
    await operator.query('BEGIN');
    await operator.query('LOCK TABLE lastcall.stock_movements IN SHARE MODE');
    const waitsMs: number[] = [];
    for (let run = 0; run < 3; run++) {
      const startedMs = performance.now();
      await expect(world.get(FoldStock).runOnce()).rejects.toThrow('lock timeout');
      waitsMs.push(performance.now() - startedMs);
    }
    // The session's own limit is a second, in whatever run.
    expect(Math.min(...waitsMs)).toBeLessThan(LIMITS.lock_timeout);
    await operator.end();
    expect(await world.get(FoldStock).runOnce()).toEqual({ folded: 1 });
  });
});
