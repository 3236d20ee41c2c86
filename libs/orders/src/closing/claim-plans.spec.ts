import { inTransaction } from '@app/timeout';
import { openWorld, type World } from '../../../../test/support/world';
import { claimDue } from '../../../timeout/src/draining/claim-due';

const DUE = 100_000;
const BATCH = 500;
/** By the index, by its row, as it is locked and as it is taken out. */
const LOOKS = 4;

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await world.rows('ALTER TABLE near_deadlines SET (autovacuum_enabled = false)');
  await world.rows(
    `INSERT INTO deadlines (kind, due_at, subject_id)
     SELECT 'payment', now() - interval '1 hour', gen_random_uuid() FROM generate_series(1, $1::int)`,
    [DUE],
  );
});
afterAll(() => world?.close());

describe('where all are due at the same instant, and Postgres has counted none', () => {
  it('a claim reads what it takes, and does not sort what is due', async () => {
    const read = await inTransaction(world.drainDataSource, async (tx) => {
      expect((await claimDue(tx, 'payment', BATCH, 0)).count).toBe(BATCH);
      const [row] = await tx.rows<{ n: string }>(
        `SELECT sum(pg_stat_get_xact_tuples_returned(oid)) AS n FROM pg_class
          WHERE relname IN ('near_deadlines', 'near_deadlines_pkey')`,
      );
      return Number(row?.n);
    });
    expect(read).toBeGreaterThanOrEqual(BATCH);
    expect(read).toBeLessThanOrEqual(LOOKS * BATCH);
  });
});
