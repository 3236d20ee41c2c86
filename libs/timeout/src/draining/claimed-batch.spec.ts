import { ClaimedBatch } from './claimed-batch';
import type { DueDeadline } from '../deadlines/deadline-handler';
import { subject } from '../testing/deadline-store';
import { Uuids } from '../uuids';

const dueAt = (...instantsMs: number[]): DueDeadline[] =>
  instantsMs.map((ms, index) => ({
    ...{ kind: 'payment', subjectId: subject(index), dueAt: new Date(ms) },
    ...{ version: 1, failures: 0 },
  }));

describe('a claimed batch', () => {
  it('counts what was due before an instant', () => {
    const batch = ClaimedBatch.of(dueAt(30, 10, 20));
    expect([10, 11, 30, 31].map((ms) => batch.dueBefore(ms))).toEqual([0, 1, 2, 3]);
  });

  it('is taken apart once, and only for who looks at each', () => {
    const takeApart = jest.fn(() => dueAt(10, 10));
    const ids = Uuids.of([subject(0), subject(1)]);
    const batch = new ClaimedBatch(ids, { oldestMs: 10, newestMs: 10 }, takeApart);
    expect([batch.count, batch.dueBefore(10), batch.dueBefore(11)]).toEqual([2, 0, 2]);
    expect(takeApart).not.toHaveBeenCalled();
    expect(batch.each).toBe(batch.each);
    expect(takeApart).toHaveBeenCalledTimes(1);
  });
});
