import { DataSource, type QueryRunner } from 'typeorm';
import { Drain } from './drain';
import { drainDefaults } from './drain-options';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';

const KIND = 'payment';
/** So few are due as it is locked, and so many once it is free. */
const [FEW, ALL] = [12, 300];

describe('Drain, when a table is free again while it tries what waited for it', () => {
  let store: DeadlineStore;
  let pool: DataSource;
  let holder: QueryRunner;
  beforeAll(async () => {
    store = await DeadlineStore.open();
    const extra = { options: '-c lock_timeout=0', pipeline: true };
    pool = await new DataSource({ ...store.dataSource.options, extra }).initialize();
    await store.rows('CREATE TABLE things (id uuid PRIMARY KEY)');
    holder = store.dataSource.createQueryRunner();
  });
  afterAll(async () => {
    await holder?.release();
    await pool?.destroy();
    await store?.close();
  });

  it('handles all in few pieces, however often it has waited in vain', async () => {
    await store.add(KIND, [
      ...Array<number>(FEW).fill(-1_000),
      ...Array<number>(ALL - FEW).fill(1_800_000),
    ]);
    let isFreedAt = Infinity;
    const handler = new Effects(1_000, async (due, tx) => {
      if (handler.batches.length === isFreedAt) await holder.rollbackTransaction();
      const ids = due.map(({ subjectId }) => subjectId);
      await tx.rows('INSERT INTO things SELECT unnest($1::uuid[])', [ids]);
    });
    const one = new Drain(KIND, handler, drainParts(pool, KIND), { ...drainDefaults, drainers: 1 });
    await holder.startTransaction();
    await holder.query('LOCK TABLE things IN SHARE MODE');
    for (let round = 0; round < 5; round++) {
      await expect(one.run('timer')).rejects.toThrow('A table is locked');
    }
    await store.rows('UPDATE deadlines SET due_at = now()');
    handler.batches.length = 0;
    // As a whole, and then the third piece.
    isFreedAt = 4;
    const counts = await one.run('timer');
    expect(handler.batches.length).toBeLessThan(30);
    expect(counts).toMatchObject({ changed: ALL, putBack: 0, failed: 0 });
    const done = await store.rows<{ id: string }>('SELECT id FROM things ORDER BY id');
    expect(done.map(({ id }) => id)).toEqual(Array.from({ length: ALL }, (_, at) => subject(at)));
  });
});
