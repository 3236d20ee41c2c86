import { ClaimedBatch } from './claimed-batch';
import { DrainAside } from './drain-aside';
import { noCounts } from './drain-counts';
import { UnansweredError } from './handle-claimed';
import { DeadlineStore, subject } from './testing/deadline-store';
import { drainParts } from './testing/drain-harness';

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
    const batch = { claimed, limit: 1, isApart: true, drainers: 1 };
    expect(await aside.rolledBack(silence, batch, undefined, total)).toBe('more');
    expect(told).toEqual([`payment, 1: ${String(silence)}`]);
    expect(total).toEqual(noCounts());
  });
});
