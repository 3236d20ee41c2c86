import { StoodStillError } from './others-errors';
import { inTransaction } from './in-transaction';
import { unlessItStandsStill } from './stood-still';
import { DeadlineStore } from '../testing/deadline-store';
import type { Transaction } from './transaction';

const LIMIT_MS = 200;
/** So many are refused only where nothing else is done meanwhile. */
const MANY = 20_000;

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()), 60_000);
afterAll(() => store?.close());

const STATEMENTS = {
  rows: (tx: Transaction) => tx.rows('SELECT 1'),
  manager: (tx: Transaction) => tx.manager.query('SELECT 1'),
};

describe.each(['rows', 'manager'] as const)('work that makes statements without end (%s)', (by) => {
  it('is given up, lets go of what it has locked, and makes no further one', async () => {
    await store.rows('DELETE FROM effects');
    let endless: Promise<void> = Promise.resolve();
    const work = async (tx: Transaction): Promise<void> => {
      await tx.rows(`INSERT INTO effects VALUES (gen_random_uuid(), 'endless')`);
      for (;;) await STATEMENTS[by](tx);
    };
    const given = inTransaction(store.dataSource, (tx) =>
      unlessItStandsStill(tx, 'A hook', () => (endless = work(tx)), LIMIT_MS),
    );
    await expect(given).rejects.toThrow(
      new StoodStillError('A hook', 'was not through after 200 ms, and was given up'),
    );
    await expect(endless).rejects.toThrow();
    await inTransaction(store.dataSource, (tx) => tx.rows('LOCK TABLE effects NOWAIT'));
    expect(await store.rows('SELECT FROM effects')).toEqual([]);
  });

  it.each(['it is given up', 'its connection has gone back'])(
    'and goes on from each failure leaves the process to others once %s',
    async (when) => {
      let isOver = false;
      let refused = 0;
      const work = async (tx: Transaction): Promise<void> => {
        while (!isOver && refused < MANY) {
          await STATEMENTS[by](tx).catch(() => {
            if (refused++ === 0) setTimeout(() => (isOver = true));
          });
        }
      };
      let endless: Promise<void> = Promise.resolve();
      let given: Transaction | undefined;
      const lent = inTransaction(store.dataSource, (tx) => {
        given = tx;
        const isAtOnce = when === 'it is given up';
        const hook = () => (endless = isAtOnce ? work(tx) : new Promise(() => undefined));
        return unlessItStandsStill(tx, 'A hook', hook, LIMIT_MS);
      });
      await expect(lent).rejects.toThrow(StoodStillError);
      await (when === 'it is given up' ? endless : work(given as Transaction));
      expect(refused).toBeGreaterThan(0);
      expect(refused).toBeLessThan(MANY);
    },
  );
});
