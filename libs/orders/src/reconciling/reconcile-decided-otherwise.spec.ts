import type { Dispute, LedgerEntry } from '../../../../test/support/ledger-entry';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';
import { Reconcile } from './reconcile';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
beforeEach(async () => (world = await openWorld()));
afterEach(async () => {
  expect(await brokenInvariants(world)).toEqual([]);
  await world.close();
});

const { paid, tell, read, refundsOf } = moneyOf(() => world);

const reconciled = async () => {
  const { differences, fixed } = await world.get(Reconcile).run({
    ...{ since: new Date(Date.now() - 60_000), fixFor: OLGA, onDifference: () => undefined },
  });
  return { differences, fixed };
};
const SETTLED = { differences: 1, fixed: 1 };
const AGREED = { differences: 0, fixed: 0 };
const LEFT = { differences: 1, fixed: 0 };

/** A dispute of all of an order's money, ended as was told: as the provider has it, to be decided otherwise there. */
async function ended(what: 'won' | 'lost', returned?: number): Promise<[Placed, Dispute]> {
  const order = await paid();
  const dispute: Dispute = { id: `dp-${order.id}`, amount: 1_000, state: what };
  (world.provider.entries.get(`pay-${order.paymentId}`) as LedgerEntry).disputes.push(dispute);
  await tell(order, `dispute.${what}`, { disputeId: dispute.id, amount: 1_000, returned });
  return [order, dispute];
}

/** What the order's payment has lost, and what has been sent back of it, or will be. */
const moneyOfOrder = async (order: Placed) => ({
  disputed: (await read(order)).balance.disputed,
  owed: (await refundsOf(order)).reduce((sum, { amount }) => sum + Number(amount), 0),
});

/** What became of each webhook that told this of the order's payment. */
const toldOf = ({ paymentId }: Placed, type: string) =>
  world.rows(
    `SELECT status, result FROM webhook_events
      WHERE notice ->> 'paymentId' = $1 AND notice ->> 'type' = $2 ORDER BY received_at, id`,
    [paymentId, type],
  );

describe('a dispute that the ledger tells to be decided otherwise than it was', () => {
  it('is won after all: the rest of its money is back, and goes on to the customer', async () => {
    const [order, dispute] = await ended('lost', 300);
    expect(await moneyOfOrder(order)).toEqual({ disputed: 700, owed: 0 });
    dispute.state = 'won';
    expect([await reconciled(), await reconciled()]).toEqual([SETTLED, AGREED]);
    expect((await moneyOfOrder(order)).disputed).toBe(0);
    expect(world.told.filter(({ name }) => name === 'alert').at(-1)?.args[0]).toBe('dispute_won');
  });

  it('is won after all, and what is told late of a part that came back before is in that already', async () => {
    const [order, dispute] = await ended('lost');
    dispute.state = 'won';
    expect(await reconciled()).toEqual(SETTLED);
    for (const returned of [300, undefined]) {
      await tell(order, 'dispute.lost', { disputeId: dispute.id, amount: 1_000, returned });
    }
    expect(await toldOf(order, 'dispute.lost')).toEqual([
      { status: 'processed', result: 'recorded' },
      { status: 'held', result: 'dispute_contradiction' },
      { status: 'processed', result: 'known' },
    ]);
    expect(await moneyOfOrder(order)).toEqual({ disputed: 0, owed: 1_000 });
    expect(await reconciled()).toEqual(AGREED);
  });

  it('is won after all, for a canceled order: its money goes on to the customer', async () => {
    const [order, dispute] = await ended('lost');
    expect((await read(order)).status).toBe('canceled');
    dispute.state = 'won';
    await reconciled();
    expect(await moneyOfOrder(order)).toEqual({ disputed: 0, owed: 1_000 });
  });

  it('is lost after all: an order that is not shipped is canceled, and nothing goes back', async () => {
    const [order, dispute] = await ended('won');
    dispute.state = 'lost';
    expect([await reconciled(), await reconciled()]).toEqual([SETTLED, AGREED]);
    expect(await read(order)).toMatchObject({ status: 'canceled', closeReason: 'dispute_lost' });
    expect(await moneyOfOrder(order)).toEqual({ disputed: 1_000, owed: 0 });
  });

  it.each(['won', 'lost'] as const)(
    'is told of each night where it is %s once more',
    async (was) => {
      const [, dispute] = await ended(was);
      dispute.state = was === 'won' ? 'lost' : 'won';
      await reconciled();
      dispute.state = was;
      expect([await reconciled(), await reconciled()]).toEqual([LEFT, LEFT]);
    },
  );
});
