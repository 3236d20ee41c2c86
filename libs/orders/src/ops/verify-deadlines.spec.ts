import { inTransaction, Subjects } from '@app/timeout';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { CloseOrder } from '../closing/close-order';
import { ForceCloseOrder } from '../closing/force-close-order';
import { OrderGuard } from '../order/order-guard';
import { ForceCloseOrders } from './force-close-orders';
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

describe('ForceCloseOrders', () => {
  it('finds an order whose deadline is held, by each filter', async () => {
    const customerId = 'ann';
    const [order] = await insertOrders(world, { count: 1, closesInMs: -600_000, customerId });
    await world.rows(
      `WITH held AS (DELETE FROM deadlines WHERE subject_id = $1 RETURNING *)
       INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
       SELECT kind, subject_id, due_at, version, 8, 'a bug' FROM held`,
      [order?.id],
    );
    const [one, guard, close] = [ForceCloseOrder, OrderGuard, CloseOrder];
    const force = new ForceCloseOrders(
      world.dataSource,
      world.get(one),
      world.get(guard),
      world.get(close),
    );
    for (const filter of [{ overdue: true }, { customerId }, { since: new Date(0) }]) {
      expect(await force.find({ ...filter, limit: 10 })).toEqual([order?.id]);
    }
  });
});
