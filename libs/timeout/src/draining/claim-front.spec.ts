import { claimDue } from './claim-due';
import { ClaimFront } from './claim-front';
import { Drain } from './drain';
import { drainDefaults } from './drain-options';
import type { DeadlinePlace } from '../deadlines/deadline-range';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import { inTransaction } from '../database/in-transaction';
import type { Transaction } from '../database/transaction';

const KIND = 'payment';
const at = (dueMs: number, id = 0): DeadlinePlace => ({
  dueAt: new Date(dueMs),
  subjectId: subject(id),
});

describe('the front of claims', () => {
  let nowMs: number;
  let front: ClaimFront;
  beforeEach(() => {
    nowMs = 0;
    front = new ClaimFront(() => nowMs);
  });
  const claim = (last: DeadlinePlace | undefined) => {
    const look = front.begin();
    front.end(look, last);
    return look.from;
  };

  it('is behind the last that was claimed, by instant and id', () => {
    expect(claim(at(1, 5))).toBeUndefined();
    expect(claim(at(1, 7))).toEqual(at(1, 5));
    expect(claim(at(2, 1))).toEqual(at(1, 7));
    expect(front.begin().from).toEqual(at(2, 1));
  });

  it('stays where it is with who looked earlier and found what lies before it', () => {
    claim(at(1));
    const [one, other] = [front.begin(), front.begin()];
    front.end(other, at(9));
    front.end(one, at(5, 7));
    expect(front.begin().from).toEqual(at(9));
  });

  it('has the next claim look at everything where one finds less than it wanted', () => {
    claim(at(1));
    claim(undefined);
    expect(front.begin().from).toBeUndefined();
  });

  it('has one look at everything each half a second, however many are claimed', () => {
    claim(at(1));
    for (nowMs = 100; nowMs < 500; nowMs += 100) expect(claim(at(nowMs))).toBeDefined();
    expect(claim(at(3))).toBeUndefined();
    expect(claim(at(4))).toEqual(at(3));
  });

  it('is not moved by who began before a batch came back', () => {
    claim(at(1));
    const [behind, ofAll] = [front.begin(), { ...front.begin(), from: undefined }];
    front.fall();
    front.end(behind, at(9));
    front.end(ofAll, at(9));
    expect(front.begin().from).toBeUndefined();
  });
});

describe('claims behind the front', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const MANY = 3_000;
  const addMany = () =>
    store.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       SELECT $1, date_trunc('second', now()) - interval '1 minute', gen_random_uuid()
         FROM generate_series(1, $2::int)`,
      [KIND, 2 * MANY],
    );
  const rowsRead = async (tx: Transaction): Promise<number> => {
    const [row] = await tx.rows<{ n: string }>(
      `SELECT sum(pg_stat_get_xact_tuples_returned(oid)) AS n FROM pg_class
        WHERE relname = 'near_deadlines_pkey'`,
    );
    return Number(row?.n);
  };

  it('read nothing of what a batch beside them has claimed', async () => {
    await addMany();
    await inTransaction(store.dataSource, async (one) => {
      const first = await claimDue(one, KIND, MANY, 0);
      const readFrom = (from: DeadlinePlace | undefined) =>
        inTransaction(store.dataSource, async (other) => {
          // As the sessions of those who drain: what is due is not gathered and sorted.
          await other.rows('SET LOCAL enable_bitmapscan = off');
          const { count } = await claimDue(other, KIND, 10, 0, { from });
          expect(count).toBe(10);
          return rowsRead(other);
        });
      expect(await readFrom(first.last)).toBeLessThan(50);
      // What it would be otherwise: else the test shows nothing.
      expect(await readFrom(undefined)).toBeGreaterThan(MANY);
    });
  });

  it('begin behind the one that was due last, and not behind one of a greater id', async () => {
    await store.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       SELECT $1, now() - due * interval '1 second', id
         FROM unnest('{3,2,2,2}'::int[], $2::uuid[]) AS d (due, id)`,
      [KIND, [9, 1, 2, 5].map(subject)],
    );
    await inTransaction(store.dataSource, async (tx) => {
      const { last } = await claimDue(tx, KIND, 3, 0);
      const behind = await claimDue(tx, KIND, 3, 0, { from: last });
      expect(behind.each.map(({ subjectId }) => subjectId)).toEqual([subject(5)]);
    });
  });

  it('take each once, and in the same round what came before the front meanwhile', async () => {
    await addMany();
    const late = subject(1);
    let batches = 0;
    const handler = new Effects(500, async () => {
      batches += 1;
      if (batches !== 3) return;
      await store.rows(
        `INSERT INTO deadlines (kind, due_at, subject_id) SELECT $1, min(due_at), $2 FROM deadlines`,
        [KIND, late],
      );
    });
    const options = { ...drainDefaults, drainers: 2 };
    const drain = new Drain(KIND, handler, drainParts(store.dataSource, KIND), options);
    const { found, changed } = await drain.run('timer');
    expect([found, changed]).toEqual([2 * MANY + 1, 2 * MANY + 1]);
    expect(handler.batches.flat()).toContain(late);
    expect(new Set(handler.batches.flat()).size).toBe(2 * MANY + 1);
    expect(await store.deadlines()).toEqual([]);
  });
});
