import { Pool, type PoolClient } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { untilLocksAreWaitedFor } from '../../../../test/support/lock-waits';
import { fromPg } from './host-transaction';
import { migrateTimeouts } from './migrate';
import type { HostDeadline } from '../deadlines/host-deadline';
import { Subjects, TAKE_SUBJECTS } from './subjects';

const kind = 'trial-end';
const HOUR_MS = 3_600_000;
const subjects = new Subjects('lastcall');
const due = (subjectId: string, inMs = HOUR_MS / 2): HostDeadline => {
  return { kind, subjectId, dueAt: new Date(Date.now() + inMs) };
};

describe('Subjects, in transactions of a host', () => {
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await createTestDatabase();
    await migrateTimeouts({ postgres: { url: database.url } });
    pool = new Pool({ connectionString: database.url });
  });
  afterAll(async () => {
    await pool?.end();
    await database?.drop();
  });
  beforeEach(() => pool.query('TRUNCATE lastcall.timeout_subjects, lastcall.deadlines'));

  async function begin(): Promise<PoolClient> {
    const client = await pool.connect();
    await client.query('BEGIN');
    return client;
  }

  async function finish(client: PoolClient, how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    await client.query(how);
    client.release();
  }

  const waiting = (count: number) => untilLocksAreWaitedFor(pool, count);

  it('are taken in one order, so that many that are armed and taken back wait in no circle', async () => {
    // So they lie in the table as they are taken back: the last one first.
    for (const subject of ['b', 'a']) await subjects.arm(fromPg(pool), [due(subject)]);
    const holder = await begin();
    await holder.query(`SELECT FROM lastcall.timeout_subjects WHERE subject = 'a' FOR UPDATE`);
    const arming = subjects.arm(fromPg(pool), [due('b'), due('a')]);
    await waiting(1);
    const canceling = subjects.cancel(fromPg(pool), [due('b'), due('a')]);
    await waiting(2);
    await finish(holder, 'COMMIT');
    expect(await arming).toHaveLength(2);
    expect(await canceling).toBe(2);
    const { rows } = await pool.query('SELECT subject FROM lastcall.timeout_subjects');
    expect(rows).toEqual([]);
  });

  describe('while a handler has them, and arms them again', () => {
    const all = Array.from({ length: 200 }, (_, nth) => due(`s-${nth}`));
    /** As a batch is handled: taken, and armed anew in the same transaction. */
    const handle = async (given: readonly HostDeadline[]): Promise<PoolClient> => {
      const client = await begin();
      const { rows } = await client.query<{ id: string }>(
        'SELECT id FROM lastcall.timeout_subjects WHERE subject = ANY ($1)',
        [given.map(({ subjectId }) => subjectId)],
      );
      await client.query('SET LOCAL search_path = lastcall');
      await client.query(TAKE_SUBJECTS, [rows.map(({ id }) => id)]);
      await subjects.arm(fromPg(client), given);
      return client;
    };
    const left = async () => (await pool.query('SELECT FROM lastcall.timeout_subjects')).rowCount;

    it('are taken back all the same', async () => {
      await subjects.arm(fromPg(pool), all);
      const handler = await handle(all);
      const canceling = subjects.cancel(fromPg(pool), all);
      await waiting(1);
      await finish(handler, 'COMMIT');
      expect(await canceling).toBe(all.length);
      expect(await left()).toBe(0);
    });

    it('are moved all the same', async () => {
      const [one] = all as [HostDeadline];
      await subjects.arm(fromPg(pool), [one]);
      const handler = await handle([one]);
      const moving = subjects.reschedule(fromPg(pool), due(one.subjectId, HOUR_MS / 4));
      await waiting(1);
      await finish(handler, 'COMMIT');
      expect(await moving).toMatchObject([{ subject: one.subjectId, version: 2 }]);
      expect(await left()).toBe(1);
    });

    it("are nobody's to take back where it has not", async () => {
      await subjects.arm(fromPg(pool), all);
      const handler = await begin();
      await handler.query('DELETE FROM lastcall.timeout_subjects');
      const canceling = subjects.cancel(fromPg(pool), all);
      await waiting(1);
      await finish(handler, 'COMMIT');
      expect(await canceling).toBe(0);
    });
  });

  const deadlines = async (): Promise<string[]> => {
    const { rows } = await pool.query<{ of: string }>(
      `SELECT subject || ' in ' || relname AS of
         FROM lastcall.deadlines d JOIN pg_class ON pg_class.oid = d.tableoid
              LEFT JOIN lastcall.timeout_subjects s ON s.id = d.subject_id
        ORDER BY 1`,
    );
    return rows.map(({ of }) => of);
  };

  it('have one deadline each, however often they are armed and moved, and none when taken back', async () => {
    const tx = fromPg(pool);
    for (const hours of [0.2, 720, 721, 0.3, 722]) {
      await subjects.arm(tx, [due('a', hours * HOUR_MS), due('b', 0.5 * HOUR_MS)]);
      await subjects.reschedule(tx, due('a', (hours + 0.1) * HOUR_MS));
    }
    const [near, far] = ['b in near_deadlines', 'a in far_deadlines'];
    expect(await deadlines()).toEqual([far, near]);
    expect(await subjects.cancel(tx, [due('a'), due('a'), due('c')])).toBe(1);
    expect(await deadlines()).toEqual([near]);
    expect(await subjects.cancel(tx, [due('b')])).toBe(1);
    expect(await deadlines()).toEqual([]);
  });

  it('leave to its claim a deadline that is being claimed, and wait for nobody', async () => {
    const tx = fromPg(pool);
    await subjects.arm(tx, [due('a'), due('b'), due('c')]);
    const claimer = await begin();
    await claimer.query('DELETE FROM lastcall.near_deadlines');
    await subjects.arm(tx, [due('a', 2 * HOUR_MS)]);
    await subjects.reschedule(tx, due('b', 2 * HOUR_MS));
    expect(await subjects.cancel(tx, [due('c')])).toBe(1);
    await finish(claimer, 'COMMIT');
    expect(await deadlines()).toEqual(['a in far_deadlines', 'b in far_deadlines']);
  });
});
