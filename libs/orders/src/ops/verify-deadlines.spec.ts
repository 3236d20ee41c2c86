import { inTransaction, Subjects } from '@app/timeout';
import { openWorld, type World } from '../../../../test/support/world';
import { VerifyDeadlines } from './verify-deadlines';

const OLGA = { actor: 'olga', reason: 'case 9' };

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const waiting = () => world.rows('SELECT kind, subject_id FROM deadlines ORDER BY kind');

describe('VerifyDeadlines', () => {
  it('deletes what is nobody of ours, and nothing of a host that shares the schema', async () => {
    await inTransaction(world.dataSource, (tx) =>
      new Subjects('lastcall').arm({ query: (sql, params) => tx.rows(sql, params) }, [
        { kind: 'trial-end', subjectId: '4711', dueAt: new Date(Date.now() + 600_000) },
      ]),
    );
    const [theirs] = await waiting();
    await world.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id) VALUES ('payment', now() + interval '1 hour', gen_random_uuid())`,
    );
    const verify = new VerifyDeadlines(world.dataSource);
    expect(await verify.run()).toMatchObject({ deadlines: 1, orphaned: { count: 1 } });
    expect((await verify.run({ fixFor: OLGA })).fixed).toEqual({ inserted: 0, deleted: 1 });
    expect(await waiting()).toEqual([theirs]);
  });
});
