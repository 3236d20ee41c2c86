import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import { Drain } from './drain';
import { drainDefaults } from './drain-options';

const KIND = 'payment';
const POISONED = [17, 60, 61, 130].map(subject);

describe('Drain, when what a handler has written fails at the commit', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  it('finds whom a deferred constraint refuses by splitting, in a few transactions', async () => {
    await store.rows(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.subject_id = ANY ('{${POISONED.join()}}') THEN RAISE 'refused at the end'; END IF;
        RETURN NULL;
      END $$`);
    await store.rows(`
      CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON effects
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`);
    await store.add(KIND, Array<number>(200).fill(-1_000));
    const failed: number[] = [];
    const handler = new Effects();
    const parts = drainParts(store.dataSource, KIND, {
      batchFailed: (_, size) => void failed.push(size),
    });
    const one = new Drain(KIND, handler, parts, { ...drainDefaults, drainers: 1 });
    expect(await one.run('timer')).toMatchObject({ found: 196, changed: 196, failed: 4 });
    const done = await store.rows('SELECT subject_id FROM effects');
    expect(done).toHaveLength(196);
    // Told as a whole, then in pieces; then those four are known, and one commit has the others.
    expect(failed).toEqual([200, 200, 4]);
    expect(handler.batches.length).toBeLessThan(80);
  });
});
