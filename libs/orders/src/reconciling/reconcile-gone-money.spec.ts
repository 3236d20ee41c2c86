import { insertOrders } from '../../../../test/support/insert-orders';
import type { Dispute, LedgerEntry } from '../../../../test/support/ledger-entry';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';
import { Reconcile, type ReconcileRequest } from './reconcile';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
beforeEach(async () => (world = await openWorld()));
afterEach(async () => {
  expect(await brokenInvariants(world)).toEqual([]);
  await world.close();
});

const { read, refundsOf } = moneyOf(() => world);

/** Reconciling, which is interrupted behind its first difference and then goes on. */
async function reconciledInTwo(order: Placed): Promise<unknown[][]> {
  const owed = async () =>
    (await refundsOf(order))
      .filter(({ status }) => status !== 'canceled')
      .map(({ amount }) => Number(amount));
  const run = (options: Partial<ReconcileRequest>) =>
    world.get(Reconcile).run({
      ...{ since: new Date(Date.now() - 60_000), fixFor: OLGA, onDifference: () => undefined },
      ...options,
    });
  const interruption = new AbortController();
  const onDifference = (): void => interruption.abort();
  const { runId } = await run({ signal: interruption.signal, onDifference });
  const between = await owed();
  await run({ resume: runId });
  return [between, await owed()];
}
const entryOf = ({ paymentId }: Placed) =>
  world.provider.entries.get(`pay-${paymentId}`) as LedgerEntry;

/** Closed, and paid too late, which its provider has not told us of. */
async function paidLate(): Promise<Placed> {
  const wanted = { count: 1, closesInMs: -10, payment: 'failed', quantity: 2 } as const;
  const [order] = (await insertOrders(world, wanted)) as [Placed];
  const { paymentId, amount } = order;
  world.provider.open({ paymentId, amount, currency: 'EUR' });
  await world.timeouts.drainAll('timer');
  world.provider.pay(paymentId, new Date(), { late: true });
  return order;
}

describe('a comparison that is interrupted between differences of one payment', () => {
  it('sends back no money that is late, and that a dispute has taken', async () => {
    const order = await paidLate();
    world.provider.disputed(entryOf(order));
    expect(await reconciledInTwo(order)).toEqual([[], []]);
    expect((await read(order)).balance).toMatchObject({ captured: 1_000, disputed: 1_000 });
  });

  it('sends back of money that is late what nobody has sent back by hand', async () => {
    const order = await paidLate();
    world.provider.refundedByHand(entryOf(order), 400);
    expect(await reconciledInTwo(order)).toEqual([[], [600]]);
    expect((await read(order)).balance).toMatchObject({ captured: 1_000, refunded: 400 });
  });

  it('sends back of what a dispute gives back no more than nobody has sent back by hand', async () => {
    const order = await paidLate();
    const dispute: Dispute = { id: 'dp', amount: 400, state: 'opened' };
    entryOf(order).disputes.push(dispute);
    expect(await reconciledInTwo(order)).toEqual([[], [600]]);
    dispute.state = 'won';
    world.provider.refundedByHand(entryOf(order), 300);
    expect(await reconciledInTwo(order)).toEqual([[600], [600, 100]]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300, disputed: 0 });
  });
});
