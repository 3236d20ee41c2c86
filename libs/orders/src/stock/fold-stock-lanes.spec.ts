import { countStatements } from '../../../../test/support/count-statements';
import { openWorld, type World } from '../../../../test/support/world';
import { Gate } from '../../../timeout/src/testing/gate';
import { FoldStock } from './fold-stock';

describe('FoldStock, where more waits than one statement folds', () => {
  const MANY = 2_000;
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());
  beforeEach(async () => {
    await world.rows('DELETE FROM products');
    await world.rows(
      `INSERT INTO products (sku, name, unit_price, currency, on_hand, available, reserved)
       SELECT 'P-' || n, 'P', 700, 'EUR', 100, 99, 1 FROM generate_series(1, $1::int) AS n`,
      [MANY],
    );
    await world.rows(
      `INSERT INTO unfolded_stock_movements (sku, effect, quantity)
       SELECT 'P-' || n, 'release', 1 FROM generate_series(1, $1::int) AS n`,
      [MANY],
    );
  });

  const waiting = () => world.rows('SELECT FROM unfolded_stock_movements');

  function folding(ended?: (nth: number) => Promise<void> | void) {
    const { dataSource, statements } = countStatements(world.drainDataSource, ended);
    return { stock: new FoldStock(dataSource), statements };
  }

  it('folds by two lanes, each movement once', async () => {
    const { stock, statements } = folding();
    expect(await stock.runOnce()).toEqual({ folded: MANY });
    expect(statements.atOnce).toBe(2);
    expect(await waiting()).toEqual([]);
    const [left] = await world.rows('SELECT sum(reserved)::int AS reserved FROM products');
    expect(left).toEqual({ reserved: 0 });
  });

  it('fails once both lanes have ended', async () => {
    // The mark is raised by the first statement, the second one folds alone, and then there are two.
    const { stock, statements } = folding((nth) => {
      if (nth === 3) throw new Error('the connection is gone');
    });
    await expect(stock.runOnce()).rejects.toThrow('the connection is gone');
    expect(statements.underWay).toBe(0);
    await world.get(FoldStock).runOnce();
    expect(await waiting()).toEqual([]);
  });

  it('ends each lane after its statement when it is told to stop', async () => {
    const { stock, statements } = folding();
    // The mark, the first one alone, and one of each lane; what is under way by then ends as well.
    const { folded } = await stock.runOnce(() => statements.ended >= 4);
    expect(statements.ended).toBe(5);
    expect(await waiting()).toHaveLength(MANY - folded);
    expect(folded).toBeLessThan(MANY);
  });

  it('says that it is behind once that takes a quarter of a second', async () => {
    const gate = new Gate();
    const { stock } = folding((nth) => (nth === 2 ? gate.pass() : undefined));
    const now = jest.spyOn(performance, 'now');
    const beganMs = performance.now();
    try {
      now.mockReturnValue(beganMs);
      const run = stock.runOnce();
      await gate.reached();
      now.mockReturnValue(beganMs + 250);
      expect(stock.isBehind).toBe(false);
      now.mockReturnValue(beganMs + 251);
      expect(stock.isBehind).toBe(true);
      gate.open();
      await run;
      expect(stock.isBehind).toBe(false);
    } finally {
      now.mockRestore();
    }
  });

  it('says whether much waits, behind where folding begins', async () => {
    const { stock } = folding();
    const { length } = await waiting();
    expect(await stock.hasMuch(length)).toBe(true);
    expect(await stock.hasMuch(length + 1)).toBe(false);
    await world.rows(
      'UPDATE stock_folding SET from_id = (SELECT min(id) FROM unfolded_stock_movements)',
    );
    expect(await stock.hasMuch(length)).toBe(false);
    await world.rows('UPDATE stock_folding SET from_id = 0');
  });
});
