import { errandWorker, turnOf, untilAsked } from '../../../../test/support/errand-worker';
import { openOrder, paidOrder } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import type { CarryOutErrands } from './carry-out-errands';
import { leaveErrand } from './leave-errand';

const OLGA = { actor: 'olga', reason: 'case 9' };
const never = new AbortController().signal;

let world: World;
beforeAll(async () => (world = await openWorld()));
afterEach(async () => {
  await world.rows('DELETE FROM errands');
  await world.owner.rows('DELETE FROM processes');
});
afterAll(() => world?.close());

const waiting = (count: number): Promise<unknown> => untilAsked(world, count);
const done = async (...args: unknown[]): Promise<unknown> => [`of ${String(args[0])}`];

/** A process that says of itself which providers it has. */
const tells = (providers: string, hasHooks: boolean) =>
  world.owner.rows(
    `INSERT INTO processes (id, host, pid, settings, has_hooks)
     VALUES (gen_random_uuid(), 'a', 7,
       jsonb_build_object('HOSTS_PROVIDERS', $1::text, 'PAYMENT_PROVIDERS', 'sandbox,' || $1::text), $2)`,
    [providers, hasHooks],
  );
const movePayment = (paymentId: unknown, provider: string) =>
  world.owner.rows('UPDATE payments SET provider = $2 WHERE id = $1', [paymentId, provider]);

describe.each(['refunds.create-at-provider', 'refunds.create', 'orders.extend'] as const)(
  'what commands leave to the host as %s, of a payment at a provider',
  (what) => {
    const isExtension = what === 'orders.extend';
    const hasHooks = what === 'refunds.create';
    const asked = (orderId: string): Promise<unknown> =>
      isExtension
        ? leaveErrand(world, never, what, [orderId, { ...OLGA, by: 'operator', byMs: 60_000 }])
        : leaveErrand(world, never, what, [orderId, { ...OLGA, amount: 300 }]);
    const workerOf = (...providers: string[]): CarryOutErrands =>
      errandWorker(world, { hasHooks, extendOnce: done, create: done, providers });
    const orderAt = async (provider: string): Promise<string> => {
      const { id, paymentId } = await (isExtension ? openOrder(world) : paidOrder(world));
      await movePayment(paymentId, provider);
      return id;
    };

    it('is left by workers without that to one that has it', async () => {
      await tells('acme,other', hasHooks);
      const orderId = await orderAt('acme');
      const answer = asked(orderId);
      await waiting(1);
      expect(await workerOf('sandbox').runOnce()).toBe(0);
      await turnOf(workerOf('sandbox', 'acme'));
      expect(await answer).toEqual([`of ${orderId}`]);
    });

    it('is carried out by any where no process has told of that: it is switched off', async () => {
      await tells('other', hasHooks);
      const answer = asked(await orderAt('acme'));
      await waiting(1);
      await turnOf(workerOf('sandbox'));
      expect(await answer).toHaveLength(1);
    });

    it('is taken all the same where what it names is no order', async () => {
      const answer = asked('one');
      await waiting(1);
      await turnOf(workerOf('sandbox'));
      expect(await answer).toEqual(['of one']);
    });
  },
);

it('a refund beside hooks is left to no other where the provider is in processes without the hooks', async () => {
  await tells('acme', false);
  const { id, paymentId } = await paidOrder(world);
  await movePayment(paymentId, 'acme');
  const answer = leaveErrand(world, never, 'refunds.create', [id, { ...OLGA, amount: 300 }]);
  await waiting(1);
  await turnOf(errandWorker(world, { create: done, providers: ['sandbox'] }));
  expect(await answer).toEqual([`of ${id}`]);
});
