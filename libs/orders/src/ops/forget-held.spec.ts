import { randomUUID } from 'node:crypto';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import { brokenInvariants } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { ForceCloseOrder } from '../closing/force-close-order';
import { ForgetHeld } from './forget-held';
import { readHeld } from './overview';
import { readWaits } from './waits';
import { VerifyDeadlines } from './verify-deadlines';

const OLGA = { actor: 'olga', reason: 'the customer called' };

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await insertProduct(world);
});
afterAll(() => world?.close());
afterEach(() => world.rows('DELETE FROM held_deadlines'));

const hold = (kind: string, subjectId: string): Promise<unknown> =>
  world.rows(
    `WITH taken AS (DELETE FROM deadlines WHERE kind = $1 AND subject_id = $2)
     INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error, held_at)
     VALUES ($1, $2, now(), 1, 8, 'poisoned', now() - interval '1 hour')`,
    [kind, subjectId],
  );

const counts = async () => [
  (await readHeld(world.dataSource)).heldDeadlines,
  (await readWaits(world)).deadline_held.count,
  (await new VerifyDeadlines(world.dataSource).run()).held.count,
  (await brokenInvariants(world)).filter((one) => one.startsWith('15')).length,
];

const order = async (): Promise<string> => {
  const [made] = await insertOrders(world, { count: 1, closesInMs: 60_000 });
  return made?.id as string;
};

const forget = () => world.get(ForgetHeld).runOnce();

it('a held deadline leaves with its order, and not before', async () => {
  const id = await order();
  await hold('payment', id);
  expect(await forget()).toEqual({ forgotten: 0 });
  expect(await counts()).toEqual([1, 1, 1, 1]);
  await world.get(ForceCloseOrder).forceClose(id, OLGA);
  expect(await forget()).toEqual({ forgotten: 1 });
  expect(await counts()).toEqual([0, 0, 0, 0]);
});

it('of an order that is over, what is to end its open payment stays, until that has ended', async () => {
  const options = { count: 1, closesInMs: 60_000, payment: 'open' } as const;
  const [made] = await insertOrders(world, options);
  const id = made?.id as string;
  await hold('closing', id);
  await world.rows(`UPDATE orders SET status = 'closed', closed_at = now() WHERE id = $1`, [id]);
  expect(await forget()).toEqual({ forgotten: 0 });
  await world.rows(`UPDATE payments SET status = 'closed' WHERE order_id = $1`, [id]);
  expect(await forget()).toEqual({ forgotten: 1 });
});

it.each([
  ['needs_attention', 1],
  ['succeeded', 1],
  ['canceled', 1],
  ['requested', 0],
  ['pending', 0],
  ['failed', 0],
])('of a refund that is %s, %i leave', async (status, forgotten) => {
  const [made] = await insertOrders(world, { count: 1, closesInMs: 60_000, payment: 'open' });
  const [refund] = await world.rows<{ id: string }>(
    `INSERT INTO refunds (id, payment_id, amount, currency, reason, status)
     VALUES (gen_random_uuid(), $1, 1, 'EUR', 'operator', $2) RETURNING id`,
    [made?.paymentId, status],
  );
  await hold('refund', refund?.id as string);
  expect(await forget()).toEqual({ forgotten });
});

it("leaves what is nobody's, what is a host's, and what somebody releases right now", async () => {
  await hold('payment', randomUUID());
  const [theirs, id] = [await order(), await order()];
  await world.rows(
    `INSERT INTO timeout_subjects (id, kind, subject, due_at) VALUES ($1, 'payment', 'ann', now())`,
    [theirs],
  );
  for (const one of [theirs, id]) {
    await hold('payment', one);
    await world.rows(`UPDATE orders SET status = 'closed', closed_at = now() WHERE id = $1`, [one]);
  }
  await world.dataSource.transaction(async (releasing) => {
    await releasing.query('SELECT FROM held_deadlines WHERE subject_id = $1 FOR UPDATE', [id]);
    expect(await forget()).toEqual({ forgotten: 0 });
  });
  expect(await forget()).toEqual({ forgotten: 1 });
});
