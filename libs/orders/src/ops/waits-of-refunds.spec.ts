import { inTransaction } from '@app/timeout';
import {
  brokenInvariants,
  type Payable,
  paidOrder,
  tell,
} from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { type SettledAnswer, SettleRefunds } from '../money/settle-refunds';
import { CreateRefund } from './create-refund';
import { readWaits } from './waits';
import { WatchWaits } from './watch-waits';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
beforeEach(async () => (world = await openWorld()));
afterEach(() => world?.close());

async function refundOf(order: Payable): Promise<string> {
  const { refundIds } = await world.get(CreateRefund).create(order.id, { ...OLGA, amount: 300 });
  return refundIds[0] as string;
}

/** Everything about the refund was so many days ago. */
const grow = (id: string, days: number) =>
  world.rows(
    `UPDATE refunds SET created_at = created_at - $2 * interval '1 day',
            updated_at = updated_at - $2 * interval '1 day' WHERE id = $1`,
    [id, days],
  );

const answer = (id: string, told: SettledAnswer) =>
  inTransaction(world.dataSource, (tx) =>
    world.get(SettleRefunds).settle(tx, id, 1, told, 'webhook'),
  );

/** Nobody is called, and no invariant wants that somebody had been. */
async function expectNobodyCalled(): Promise<void> {
  expect(await world.get(WatchWaits).runOnce()).toEqual({ told: 0 });
  expect((await brokenInvariants(world)).filter((one) => one.startsWith('15'))).toEqual([]);
}

describe('a refund under way', () => {
  it('waits from when it failed, and not from when it was made, days before', async () => {
    const id = await refundOf(await paidOrder(world));
    const providerRefundId = `r-${id}`;
    await answer(id, { state: 'SUCCEEDED', providerRefundId });
    await grow(id, 10);
    const why = 'the account was closed';
    await answer(id, { state: 'FAILED', providerRefundId, why, isForGood: false });
    expect((await readWaits(world)).refund_pending).toMatchObject({ count: 1, tooOld: 0 });
    await expectNobodyCalled();
  });

  it('is told of once more when it is too old again, after it was tried anew', async () => {
    const id = await refundOf(await paidOrder(world));
    const providerRefundId = `r-${id}`;
    await answer(id, { state: 'PENDING', providerRefundId });
    await grow(id, 8);
    expect(await world.get(WatchWaits).runOnce()).toEqual({ told: 1 });
    await answer(id, { state: 'FAILED', providerRefundId, why: 'not yet', isForGood: false });
    await expectNobodyCalled();
    await grow(id, 8);
    expect(await world.get(WatchWaits).runOnce()).toEqual({ told: 1 });
  });
});

it('a refund that had to wait for the end of a dispute is unsent from then on', async () => {
  const order = await paidOrder(world);
  const id = await refundOf(order);
  const dispute = { disputeId: 'd1', amount: 1_000 };
  await tell(world, order, 'dispute.opened', dispute);
  await grow(id, 21);
  expect((await readWaits(world)).refund_unsent.count).toBe(0);
  await tell(world, order, 'dispute.won', dispute);
  expect((await readWaits(world)).refund_unsent).toMatchObject({ count: 1, tooOld: 0 });
  await world.rows(`UPDATE money_movements SET at = at - interval '1 hour' WHERE ref <> 'd1'`);
  await expectNobodyCalled();
  await world.rows(`UPDATE money_movements SET at = at - interval '1 hour'`);
  expect((await readWaits(world)).refund_unsent).toMatchObject({ count: 1, tooOld: 1 });
});
