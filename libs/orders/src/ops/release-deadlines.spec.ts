import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { ReleaseDeadlines } from './release-deadlines';

const OLGA = { actor: 'olga', reason: 'mended in 1.4' };

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

/** Orders whose deadlines have failed too often. */
async function held(count: number): Promise<string[]> {
  const orders = await insertOrders(world, { count, closesInMs: 60_000 });
  const ids = orders.map(({ id }) => id);
  await world.rows(
    `WITH taken AS (DELETE FROM deadlines WHERE subject_id = ANY ($1::uuid[]) RETURNING *)
     INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
     SELECT kind, subject_id, due_at, version, 8, 'poisoned' FROM taken`,
    [ids],
  );
  return ids;
}

const subjectsIn = async (table: 'held_deadlines' | 'deadlines'): Promise<string[]> => {
  const rows = await world.rows<{ id: string }>(`SELECT subject_id AS id FROM ${table}`);
  return rows.map(({ id }) => id).sort();
};

it('releases the deadlines that are named, writes that down, and leaves the others held', async () => {
  const [named, ...others] = (await held(3)) as [string, string, string];
  const deadlines = new ReleaseDeadlines(world.dataSource, world.timeouts);
  const released = await deadlines.release({ subjectIds: [named] }, OLGA);
  expect(released).toEqual([{ kind: 'payment', subjectId: named }]);
  expect(await subjectsIn('deadlines')).toEqual([named]);
  expect(await subjectsIn('held_deadlines')).toEqual([...others].sort());
  expect(await world.rows('SELECT actor, action, subject_id FROM operator_actions')).toEqual([
    { actor: 'olga', action: 'deadline.release', subject_id: named },
  ]);
});

it('releases those of a kind, where that is what is named', async () => {
  const [id] = (await held(1)) as [string];
  await world.rows(
    `INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
     SELECT 'shipment', subject_id, due_at, version, 8, 'poisoned' FROM held_deadlines WHERE subject_id = $1`,
    [id],
  );
  const deadlines = new ReleaseDeadlines(world.dataSource, world.timeouts);
  expect(await deadlines.release({ kind: 'shipment' }, OLGA)).toEqual([
    { kind: 'shipment', subjectId: id },
  ]);
  const left = 'SELECT kind FROM held_deadlines WHERE subject_id = $1';
  expect(await world.rows(left, [id])).toEqual([{ kind: 'payment' }]);
});
