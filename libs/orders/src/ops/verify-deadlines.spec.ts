import { inTransaction, Subjects } from '@app/timeout';
import { moneyOf, type Placed } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';
import { VerifyDeadlines } from './verify-deadlines';

const OLGA = { actor: 'olga', reason: 'case 9' };

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const { paid, disputed } = moneyOf(() => world);
const waiting = () => world.rows('SELECT kind, subject_id FROM deadlines ORDER BY kind');

const verify = () => new VerifyDeadlines(world.dataSource);

async function shipped(): Promise<Placed> {
  const order = await paid({ receiveWithinMs: 0 });
  await world.get(ShipOrder).ship(order.id, 'mia');
  return order;
}

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
    expect(await verify().run()).toMatchObject({
      ...{ deadlines: 1, orphaned: { count: 1 }, missing: { count: 0 }, wrong: { count: 0 } },
    });
    expect((await verify().run({ fixFor: OLGA })).fixed).toEqual({ inserted: 0, deleted: 1 });
    expect(await waiting()).toEqual([theirs]);
  });

  describe.each([
    ['not shipped in time', 'shipment', () => paid({ shipWithinMs: 0 })],
    ['whose receipt nobody confirms', 'receipt', shipped],
  ] as const)('of disputed orders %s', (_, kind, overdue) => {
    const deadlines = ({ id }: Placed) =>
      world.rows<{ kind: string; version: number; is_later: boolean }>(
        `SELECT kind, version, due_at > now() + interval '50 minutes' AS is_later
           FROM deadlines WHERE subject_id = $1`,
        [id],
      );
    const move = ({ id }: Placed, by: string) =>
      world.rows('UPDATE deadlines SET due_at = due_at + $2::interval WHERE subject_id = $1', [
        ...[id, by],
      ]);
    const wrong = async () => (await verify().run()).wrong;

    it('knows what their handler has put off, also once they are not disputed any more', async () => {
      const order = await overdue();
      await disputed(order, 'opened');
      await world.timeouts.runSweep();
      const [putOff, ...others] = await deadlines(order);
      expect([putOff, others]).toMatchObject([{ kind, is_later: true }, []]);
      expect((await verify().run({ fixFor: OLGA })).fixed.inserted).toBe(0);
      expect(await deadlines(order)).toEqual([putOff]);
      await disputed(order, 'won');
      expect(await wrong()).toMatchObject({ count: 0 });
    });

    it('finds what is later than they put anything off', async () => {
      const order = await overdue();
      await disputed(order, 'opened');
      await world.timeouts.runSweep();
      await move(order, '5 minutes');
      expect(await wrong()).toMatchObject({ sample: [{ kind, subjectId: order.id }] });
      await move(order, '-5 minutes');
    });
  });

  it('finds what is late before its time: nobody has put that off', async () => {
    const { id } = await paid({ shipWithinMs: 60_000 });
    await world.rows(
      `UPDATE deadlines SET due_at = due_at + interval '10 minutes' WHERE subject_id = $1`,
      [id],
    );
    expect((await verify().run()).wrong).toMatchObject({ sample: [{ subjectId: id }] });
  });
});
