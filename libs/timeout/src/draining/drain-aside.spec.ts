import { ClaimedBatch } from './claimed-batch';
import { Drain } from './drain';
import { DrainAside } from './drain-aside';
import { noCounts } from './drain-counts';
import { drainDefaults } from './drain-options';
import { UnansweredError } from './handle-claimed';
import { inTransaction } from '../database/in-transaction';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';

const KIND = 'payment';

describe('DrainAside', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  it('tells of one that failed also where somebody else has it by now', async () => {
    const told: string[] = [];
    const parts = drainParts(store.dataSource, KIND, {
      batchFailed: (kind, size, error) => void told.push(`${kind}, ${size}: ${String(error)}`),
    });
    const aside = new DrainAside(KIND, parts, {} as never);
    const due = { kind: KIND, subjectId: subject(0), dueAt: new Date(), version: 1, failures: 0 };
    const claimed = ClaimedBatch.of([due]);
    const silence = UnansweredError.within(20_000, KIND, [due]);
    const total = noCounts();
    const batch = { claimed, limit: 1, isApart: true, isChecked: true, drainers: 1 };
    expect(await aside.rolledBack(silence, batch, undefined, total)).toBe('more');
    expect(told).toEqual([`payment, 1: ${String(silence)}`]);
    expect(total).toEqual(noCounts());
  });

  it('puts back one whose row somebody holds as it is committed, and counts nothing against it', async () => {
    const [held = ''] = await store.add(KIND, [-1_000, -1_000, -1_000]);
    await store.rows('CREATE TABLE things AS SELECT subject_id AS id FROM deadlines');
    await store.rows(`CREATE FUNCTION need() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM FROM things WHERE id = NEW.subject_id FOR UPDATE NOWAIT; RETURN NULL; END $$`);
    await store.rows(`CREATE CONSTRAINT TRIGGER need AFTER INSERT ON effects
      INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION need()`);
    const parts = {
      ...drainParts(store.dataSource, KIND),
      // What is put back is not due again, however long it takes.
      clock: { nowMs: () => Date.now() + 3_600_000, freshen: async () => undefined },
    };
    const drain = new Drain(KIND, new Effects(), parts, drainDefaults);
    await inTransaction(store.dataSource, async (tx) => {
      await tx.rows('SELECT FROM things WHERE id = $1 FOR UPDATE', [held]);
      expect(await drain.run('timer')).toMatchObject({ found: 3, changed: 2, putBack: 1 });
    });
    expect(await store.deadlines()).toMatchObject([{ subject_id: held, failures: 0 }]);
    expect(await store.rows('SELECT FROM held_deadlines')).toEqual([]);
  });
});
