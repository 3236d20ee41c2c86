import { claimDue, claimExactly } from '../draining/claim-due';
import {
  countOverdue,
  deadlinesBetween,
  insertDeadlines,
  putBackDeadlines,
  slotsBetween,
} from './deadlines';
import { holdDeadlines } from './held-deadlines';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { inTransaction } from '../database/in-transaction';

const KIND = 'payment';

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
beforeEach(() => store.empty());

const claim = (limit = 100, overdueByMs = 0) =>
  inTransaction(
    store.dataSource,
    async (tx) => (await claimDue(tx, KIND, limit, overdueByMs)).each,
  );

/** A full second that is near, and not due while a test runs. */
const soon = (): number => Math.ceil(Date.now() / 1_000) * 1_000 + 600_000;

describe('deadlines', () => {
  it('are one when armed twice', async () => {
    const deadline = { kind: KIND, subjectId: subject(1), dueAt: new Date(), version: 1 };
    await inTransaction(store.dataSource, async (tx) => {
      await insertDeadlines(tx, [deadline, deadline]);
      await insertDeadlines(tx, [deadline]);
    });
    expect(await store.deadlines()).toHaveLength(1);
  });

  it('are claimed when due, the oldest first, each once', async () => {
    await store.add(KIND, [-10, -30, -20, 60_000]);
    const claimed = await claim(2);
    expect(claimed.map(({ subjectId }) => subjectId).sort()).toEqual([subject(1), subject(2)]);
    expect((await claim()).map(({ subjectId }) => subjectId)).toEqual([subject(0)]);
    expect(await claim()).toEqual([]);
  });

  it.each([
    ['nothing', [0, 0, 0], [3, 3, 3], [2, 2, 2]],
    ['their instants', [0, 5, 0], [3, 3, 3], [2, 2, 2]],
    ['their versions', [0, 0, 0], [3, 4, 3], [2, 2, 2]],
    ['how often they have failed', [0, 0, 0], [3, 3, 3], [2, 0, 1]],
    ['everything', [0, 5, 9], [1, 4, 3], [2, 0, 1]],
  ])('are as they were armed where they differ in %s', async (_, offsetsMs, versions, failures) => {
    const firstMs = Date.now() - 60_000;
    const armed = offsetsMs.map((offsetMs, index) => ({
      ...{ kind: KIND, subjectId: subject(index), dueAt: new Date(firstMs + offsetMs) },
      ...{ version: versions[index] as number, failures: failures[index] as number },
    }));
    await inTransaction(store.dataSource, (tx) => putBackDeadlines(tx, armed));
    const claimed = await claim();
    expect([...claimed].sort((a, b) => a.subjectId.localeCompare(b.subjectId))).toEqual(armed);
  });

  it('of another kind are not claimed', async () => {
    await store.add('refund', [-10]);
    expect(await claim()).toEqual([]);
  });

  it('are back when the claim is rolled back', async () => {
    await store.add(KIND, [-10]);
    const failing = inTransaction(store.dataSource, async (tx) => {
      await claimDue(tx, KIND, 100, 0);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await claim()).toHaveLength(1);
  });

  it('that somebody is claiming are passed over, not waited for', async () => {
    await store.add(KIND, [-30, -20, -10]);
    await inTransaction(store.dataSource, async (tx) => {
      const mine = await claimDue(tx, KIND, 2, 0);
      const [stored] = mine.each;
      expect((await claim()).map(({ subjectId }) => subjectId)).toEqual([subject(2)]);
      const theirs = inTransaction(store.dataSource, (other) =>
        claimExactly(other, KIND, [stored as never]),
      );
      expect(await theirs).toEqual([]);
    });
  });

  it('are read in pages without a gap, many of one instant among them', async () => {
    const dueAt = new Date(soon());
    const all = Array.from({ length: 25 }, (_, i) => ({
      kind: KIND,
      subjectId: subject(i),
      dueAt,
      version: 1,
    }));
    await inTransaction(store.dataSource, (tx) => insertDeadlines(tx, all));
    const seen: string[] = [];
    const until = new Date(dueAt.getTime() + 1);
    const after = new Date(dueAt.getTime() - 1);
    for await (const page of deadlinesBetween(store.dataSource, KIND, after, until, 10)) {
      expect(page.length).toBeLessThanOrEqual(10);
      seen.push(...page.map(({ subjectId }) => subjectId));
    }
    expect(seen).toEqual(all.map(({ subjectId }) => subjectId));
  });

  it('share slots, each of which ends at or after its deadlines', async () => {
    const at = soon();
    const all = [1, 99, 100, 101].map((ms, i) => ({
      kind: KIND,
      subjectId: subject(i),
      dueAt: new Date(at + ms),
      version: 1,
    }));
    await inTransaction(store.dataSource, (tx) => insertDeadlines(tx, all));
    const slots = (after: number, until: number) =>
      slotsBetween(store.dataSource, [KIND], new Date(at + after), new Date(at + until), 100);
    expect((await slots(0, 1_000)).sort()).toEqual([at + 100, at + 200]);
    expect(await slots(100, 1_000)).toEqual([at + 200]);
  });

  it('are counted when overdue, with the age of the oldest', async () => {
    expect(await countOverdue(store.dataSource, [KIND])).toEqual({ overdue: 0, oldestLagMs: 0 });
    await store.add(KIND, [-5_000, -10, 60_000]);
    const { overdue, oldestLagMs } = await countOverdue(store.dataSource, [KIND]);
    expect(overdue).toBe(2);
    expect(oldestLagMs).toBeGreaterThanOrEqual(5_000);
  });

  it('are held once, with the latest error', async () => {
    const due = { kind: KIND, subjectId: subject(1), dueAt: new Date(), version: 1, failures: 7 };
    for (const error of ['first', 'second']) {
      await inTransaction(store.dataSource, (tx) => holdDeadlines(tx, [{ due, error }]));
    }
    expect(await store.rows('SELECT failures, error FROM held_deadlines')).toEqual([
      { failures: 8, error: 'second' },
    ]);
  });
});
