import { listHeld } from '@app/timeout';
import { brokenInvariants } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { readHeld } from './overview';
import { readWaits } from './waits';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

it('a deadline of a host that is held counts for as long as it can be released', async () => {
  const [held] = await world.rows<{ id: string }>(
    `INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error, held_at)
     SELECT 'trial-end', gen_random_uuid(), now(), 1, 8, 'poisoned', now() - interval '1 hour'
     RETURNING subject_id AS id`,
  );
  const counts = async () => [
    (await listHeld(world, { limit: 1 })).count,
    (await readHeld(world.dataSource)).heldDeadlines,
    (await readWaits(world)).deadline_held.count,
    (await brokenInvariants(world)).filter((one) => one.startsWith('15')).length,
  ];
  await world.rows(
    `INSERT INTO timeout_subjects (id, kind, subject, due_at) VALUES ($1, 'trial-end', 'ann', now())`,
    [held?.id],
  );
  expect(await counts()).toEqual([1, 1, 1, 1]);
  // Armed again: the subject has a fresh id, and nobody of this version handles the kind, who would tidy up.
  await world.rows('UPDATE timeout_subjects SET id = gen_random_uuid()');
  expect(await counts()).toEqual([0, 0, 0, 0]);
});
