import { until } from '../../../../test/support/until';
import { isLockTimeout, isTableLocked } from './database-errors';
import { inTransaction } from './in-transaction';
import { limitWaitsForTables, StillLockedError } from './locked-statements';
import { queryRows } from './query-rows';
import { DeadlineStore, subject } from '../testing/deadline-store';
import type { Transaction } from './transaction';

const READ = 'SELECT count(*) FROM effects';
const READ_AGAIN = `${READ} AS again`;
const MOST = 2;

const BY = ['rows', 'manager'] as const;
/** As our own statements are sent, or as a host's by TypeORM. */
const send = (tx: Transaction, by: (typeof BY)[number], sql: string, params: unknown[] = []) =>
  by === 'rows' ? tx.rows(sql, params) : tx.manager.query<unknown[]>(sql, params);

let store: DeadlineStore;
let laterMs = 0;
beforeAll(async () => {
  store = await DeadlineStore.open();
  limitWaitsForTables(store.dataSource, MOST, () => performance.now() + laterMs);
}, 60_000);
afterAll(() => store?.close());

async function waitInVain(text: string): Promise<void> {
  const waited = inTransaction(store.dataSource, async (tx) => {
    await tx.rows(`SET LOCAL lock_timeout = '20ms'`);
    await tx.rows(text);
  });
  // Of what it is tried again for, it may be told by others' waits.
  await expect(waited).rejects.toThrow(/lock timeout|A table is locked/);
}

/** Runs `work` while somebody has a lock on the whole of `effects`, and one has waited for it in vain. */
async function whileLocked(work: (free: () => Promise<void>) => Promise<void>): Promise<void> {
  const dba = store.dataSource.createQueryRunner();
  const free = async (): Promise<void> => {
    if (dba.isTransactionActive) await dba.rollbackTransaction();
  };
  try {
    await dba.startTransaction();
    await dba.query('LOCK TABLE effects IN ACCESS EXCLUSIVE MODE');
    await waitInVain(READ);
    await work(free);
  } finally {
    await free();
    await dba.release();
  }
}

const read = (): Promise<unknown> => queryRows(store.dataSource, READ);

/** So many ask; resolves once all but those who wait have been refused. */
async function ask(count: number): Promise<{ refused: unknown[]; waiting: Promise<unknown> }> {
  const refused: unknown[] = [];
  const asked = Array.from({ length: count }, () =>
    read().catch((error: unknown) => void refused.push(error)),
  );
  await until('all others are refused', () => refused.length === count - MOST);
  return { refused, waiting: Promise.all(asked) };
}

describe('while a table is known to be locked', () => {
  it('a few wait for it, all others hear so at once, and all are answered once it is free', async () => {
    await whileLocked(async (free) => {
      const { refused, waiting } = await ask(20);
      for (const error of refused) {
        expect(error).toBeInstanceOf(StillLockedError);
        expect(isTableLocked(error)).toBe(true);
      }
      await expect(queryRows(store.dataSource, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
      await free();
      await waiting;
      expect(refused).toHaveLength(20 - MOST);
      await Promise.all(Array.from({ length: 20 }, read));
    });
  });

  it.each(BY)('a transaction is not tried again, and goes on from an attempt (%s)', async (by) => {
    await whileLocked(async (free) => {
      const { waiting } = await ask(MOST + 1);
      let tries = 0;
      const refused = inTransaction(store.dataSource, (tx) => {
        tries += 1;
        return send(tx, by, READ);
      });
      await expect(refused).rejects.toThrow('A table is locked');
      expect(tries).toBe(1);
      const ones = await inTransaction(store.dataSource, async (tx) => {
        const attempt = tx.attempt(async (part) => {
          // TypeORM sends no savepoint of ours.
          await part.rows('SELECT 1');
          return send(part, by, READ);
        });
        await expect(attempt).rejects.toThrow('A table is locked');
        return tx.rows('SELECT 1 AS one');
      });
      expect(ones).toEqual([{ one: 1 }]);
      await free();
      await waiting;
    });
  });

  it.each(BY)('work that goes on from it is undone all the same (%s)', async (by) => {
    await whileLocked(async (free) => {
      const { waiting } = await ask(MOST + 1);
      const done = inTransaction(store.dataSource, async (tx) => {
        await expect(send(tx, by, READ)).rejects.toThrow('A table is locked');
        return tx.rows('SELECT 1 AS one');
      });
      await expect(done).rejects.toThrow(/aborted|has failed/);
      await free();
      await waiting;
    });
  });

  it('work by TypeORM goes on from its own savepoint', async () => {
    await whileLocked(async (free) => {
      const { waiting } = await ask(MOST + 1);
      const ones = inTransaction(store.dataSource, async ({ manager }) => {
        const nested = manager.transaction((part) => part.query(READ));
        await expect(nested).rejects.toThrow('A table is locked');
        return manager.query<unknown[]>('SELECT 1 AS one');
      });
      await expect(ones).resolves.toEqual([{ one: 1 }]);
      await free();
      await waiting;
    });
  });

  it('what waited for another table is tried soon, however many try the one that is locked', async () => {
    const other = 'SELECT count(*) FROM held_deadlines';
    await whileLocked(async (free) => {
      const dba = store.dataSource.createQueryRunner();
      await dba.startTransaction();
      await dba.query('LOCK TABLE held_deadlines IN ACCESS EXCLUSIVE MODE');
      await waitInVain(other);
      await dba.rollbackTransaction();
      await dba.release();
      const { waiting } = await ask(MOST + 1);
      await expect(queryRows(store.dataSource, other)).rejects.toBeInstanceOf(StillLockedError);
      laterMs += 1_500;
      await waitInVain(READ_AGAIN);
      laterMs += 1_000;
      await expect(queryRows(store.dataSource, other)).resolves.toEqual([{ count: '0' }]);
      await expect(queryRows(store.dataSource, other)).resolves.toEqual([{ count: '0' }]);
      await free();
      await waiting;
    });
  });

  it('what was learned is forgotten soon after, though nobody has tried it since', async () => {
    const texts = ['id', 'by', 'id, by', 'by, id'].map(
      (what) => `SELECT ${what} FROM (
      SELECT subject_id AS id, by FROM effects) AS e`,
    );
    await whileLocked(async () => {
      for (const text of texts) await waitInVain(text);
    });
    laterMs += 2_500;
    const asked = texts.map((text) => queryRows(store.dataSource, text));
    expect(await Promise.all(asked)).toEqual(texts.map(() => []));
  });
});

it.each(BY)('who waits for a row behind others is told of no table (%s)', async (by) => {
  const [held, free] = [subject(1), subject(2)];
  await store.rows(`DELETE FROM effects`);
  await store.rows(`INSERT INTO effects VALUES ($1, 'a'), ($2, 'b')`, [held, free]);
  const take = (id: string): Promise<unknown> =>
    inTransaction(store.dataSource, async (tx) => {
      await tx.rows(`SET LOCAL lock_timeout = '200ms'`);
      return send(tx, by, 'SELECT by FROM effects WHERE subject_id = $1 FOR UPDATE', [id]);
    });
  const dba = store.dataSource.createQueryRunner();
  await dba.startTransaction();
  await dba.query('SELECT FROM effects WHERE subject_id = $1 FOR UPDATE', [held]);
  // Of all of them, one at a time waits for who holds it: Postgres tells the others of no row.
  const waiting = Promise.allSettled(Array.from({ length: 2 * MOST + 2 }, () => take(held)));
  const refused = (await waiting).map((one) => (one.status === 'rejected' ? one.reason : one));
  expect(refused.filter(isLockTimeout)).toHaveLength(2 * MOST + 2);
  expect(refused.filter(isTableLocked)).toEqual([]);
  const again = Array.from({ length: 2 * MOST }, () => take(held).catch((error: unknown) => error));
  expect(await take(free)).toEqual([{ by: 'b' }]);
  expect((await Promise.all(again)).filter((error) => error instanceof StillLockedError)).toEqual(
    [],
  );
  await dba.rollbackTransaction();
  await dba.release();
});
