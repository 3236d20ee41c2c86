import type { LedgerEntry } from '../../../../test/support/ledger-entry';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';
import { CreateRefund } from '../ops/create-refund';
import { Reconcile } from './reconcile';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
beforeEach(async () => (world = await openWorld()));
afterEach(async () => {
  expect(await brokenInvariants(world)).toEqual([]);
  await world.close();
});

const { placed, paid, refundsOf } = moneyOf(() => world);
const entryOf = ({ paymentId }: Placed) =>
  world.provider.entries.get(`pay-${paymentId}`) as LedgerEntry;
const owed = async (order: Placed): Promise<string> => {
  await world.get(CreateRefund).create(order.id, { ...OLGA, amount: 300 });
  const [refund] = await refundsOf(order);
  return refund?.id as string;
};

/** What its provider has done, and not told of; answers with what is settled by that. */
const DONE = {
  'a payment': async () => {
    const order = await placed();
    world.provider.pay(order.paymentId, new Date());
    return { subject_kind: 'payment', subject_id: order.paymentId };
  },
  'a refund of ours': async () => {
    const order = await paid();
    const id = await owed(order);
    entryOf(order).refunds.push({ id: 're-1', amount: 300, key: id });
    return { subject_kind: 'refund', subject_id: id };
  },
  'a refund by hand of what we owe': async () => {
    const order = await paid();
    const id = await owed(order);
    world.provider.refundedByHand(entryOf(order), 300);
    return { subject_kind: 'refund', subject_id: id };
  },
  'a refund by hand of what nobody owes': async () => {
    const order = await paid();
    world.provider.refundedByHand(entryOf(order), 300);
    return { subject_kind: 'payment', subject_id: order.paymentId };
  },
};

it.each(Object.entries(DONE))('%s is settled, and written down once', async (_, done) => {
  const subject = await done();
  const written = () =>
    world.rows(
      `SELECT subject_kind, subject_id, actor, reason FROM operator_actions
        WHERE action = 'reconcile.settle'`,
    );
  const settle = () =>
    world.get(Reconcile).run({
      ...{ since: new Date(Date.now() - 60_000), fixFor: OLGA, onDifference: () => undefined },
    });
  await settle();
  expect(await written()).toEqual([{ ...subject, ...OLGA }]);
  await settle();
  expect(await written()).toHaveLength(1);
});
