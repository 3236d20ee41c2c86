import { inTransaction, type Transaction } from '@app/timeout';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { PLACING_TURN } from '../order/advisory-locks';
import { type PlacingTurn, PlacingTurns } from './placing-turns';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

/** Each has turns of its own, as each process has. */
function taking(
  wanted: 'alone' | 'beside',
  work: (tx: Transaction) => Promise<void> = async () => undefined,
) {
  return inTransaction(world.dataSource, async (tx): Promise<PlacingTurn> => {
    const turn = await new PlacingTurns().take(tx, wanted);
    await work(tx);
    return turn;
  });
}

const areWaiting = (count: number) =>
  until(`${count} wait`, async () => {
    const [row] = await world.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_locks
        WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return row?.n === count;
  });

it('lets groups place beside each other, and one alone once they have ended, before those who came later', async () => {
  const order: string[] = [];
  const first = await beginHeldOpen(world.dataSource);
  await first.query(`SELECT pg_advisory_xact_lock_shared(${PLACING_TURN})`);
  expect(await taking('beside')).toBe('beside');
  const alone = taking('alone', async () => void order.push('alone'));
  await areWaiting(1);
  const later = taking('beside', async () => void order.push('later'));
  await areWaiting(2);
  await first.commitTransaction();
  await first.release();
  expect(await Promise.all([alone, later])).toEqual(['alone', 'beside']);
  expect(order).toEqual(['alone', 'later']);
});

it.each(['alone', 'beside'] as const)(
  'goes on where somebody keeps it, and waits for none for a while: %s',
  async (wanted) => {
    const other = await beginHeldOpen(world.dataSource);
    await other.query(`SELECT pg_advisory_xact_lock(${PLACING_TURN})`);
    const turns = new PlacingTurns();
    try {
      await inTransaction(world.dataSource, async (tx) => {
        await tx.rows('SET LOCAL lock_timeout = 20');
        expect(await turns.take(tx, wanted)).toBe('in_vain');
        expect(await tx.rows('SELECT 1 AS n')).toEqual([{ n: 1 }]);
        // At once, whatever it may wait for.
        await tx.rows('SET LOCAL lock_timeout = 0');
        for (const again of ['alone', 'beside'] as const)
          expect(await turns.take(tx, again)).toBe('none');
      });
    } finally {
      await other.rollbackTransaction();
      await other.release();
    }
  },
);
