import { inTransaction } from '@app/timeout';
import type { LedgerEntry, Posted } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { made, refundAttemptsOf } from '../../../../test/support/refund-attempts';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { Reconcile } from '../reconciling/reconcile';
import { RefundDeadline } from './refund.deadline';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const OLGA = { actor: 'olga', reason: 'case 9' };
const FAILED = { state: 'FAILED', providerRefundId: null, why: 'account closed' } as const;
const { paid, receive, tell, refunded, read, refundsOf } = moneyOf(() => world);
const { owed, settle } = refundAttemptsOf(() => world, RefundDeadline);

/** A paid order that owes 300 twice, of which the provider has taken neither, and is not asked again soon. */
async function owesTwice(): Promise<Placed> {
  const order = await paid();
  for (let nth = 0; nth < 2; nth++) await settle(await owed(order, 300), 1, FAILED);
  // In a second otherwise, which this machine may stand still for.
  await world.rows(
    `UPDATE deadlines SET due_at = due_at + interval '1 hour' WHERE kind = 'refund'
        AND subject_id IN (SELECT id FROM refunds WHERE payment_id = $1)`,
    [order.paymentId],
  );
  return order;
}
/** Of its refunds, the oldest first. */
const statusesOf = async (order: Placed) => (await refundsOf(order)).map(({ status }) => status);
const backOf = async (order: Placed) => (await read(order)).balance.refunded;

const entryOf = ({ paymentId }: Placed) =>
  world.provider.entries.get(`pay-${paymentId}`) as LedgerEntry;
const byHand = (order: Placed) => world.provider.refundedByHand(entryOf(order), 300) as Posted;

async function differencesOf({ id }: Placed): Promise<unknown[]> {
  const found: { readonly orderId: string | null }[] = [];
  await world.get(Reconcile).run({
    since: new Date(Date.now() - 60_000),
    fixFor: OLGA,
    onDifference: (one) => void found.push(one),
  });
  return found.filter(({ orderId }) => orderId === id);
}

describe('one of two refunds of the same amount that somebody makes by hand', () => {
  it('ends the oldest as it is told of, once, and the next one the other', async () => {
    const order = await owesTwice();
    for (let told = 0; told < 2; told++) await refunded(order, 300, `re-first-${order.id}`);
    expect(await statusesOf(order)).toEqual(['succeeded', 'failed']);
    expect(await backOf(order)).toBe(300);
    await refunded(order, 300, `re-second-${order.id}`);
    expect(await statusesOf(order)).toEqual(['succeeded', 'succeeded']);
    expect(await backOf(order)).toBe(600);
    await refunded(order, 300, `re-third-${order.id}`);
    expect(await backOf(order)).toBe(900);
  });

  it('ends none where it is the one by which a later one is over, told of without its key', async () => {
    const order = await paid();
    await settle(await owed(order, 300), 1, FAILED);
    await settle(await owed(order, 300), 1, made(1));
    await refunded(order, 300, 're-1');
    expect(await statusesOf(order)).toEqual(['failed', 'succeeded']);
    expect(await backOf(order)).toBe(300);
  });

  it('ends the oldest as reconciling finds it, and the next one the other', async () => {
    const order = await owesTwice();
    byHand(order);
    expect(await differencesOf(order)).toMatchObject([{ subject: 'refund', fixed: true }]);
    expect(await statusesOf(order)).toEqual(['succeeded', 'failed']);
    const late = byHand(order);
    expect(await differencesOf(order)).toMatchObject([{ subject: 'refund', fixed: true }]);
    expect(await statusesOf(order)).toEqual(['succeeded', 'succeeded']);
    await receive(late);
    expect(await differencesOf(order)).toEqual([]);
    expect(await backOf(order)).toBe(600);
  });

  it('ends one each where two are told of at once', async () => {
    const order = await owesTwice();
    const [oldest] = await refundsOf(order);
    // Somebody has it, so that they are stored, and applied together once it is free.
    await inTransaction(world.drainDataSource, async (tx) => {
      await tx.rows('SELECT FROM refunds WHERE id = $1 FOR NO KEY UPDATE', [oldest?.id]);
      await Promise.all([byHand(order), byHand(order)].map(receive));
      expect(await statusesOf(order)).toEqual(['failed', 'failed']);
      expect(await backOf(order)).toBe(0);
    });
    await until('both are booked', async () => {
      await world.timeouts.runSweep();
      return (await backOf(order)) === 600;
    });
    expect(await statusesOf(order)).toEqual(['succeeded', 'succeeded']);
    expect(await differencesOf(order)).toEqual([]);
  });

  it('ends none where its notice does not name it: it could not be told from the next one', async () => {
    const order = await owesTwice();
    await tell(order, 'refund.succeeded', { providerRefundId: null, amount: 300 });
    expect(await statusesOf(order)).toEqual(['failed', 'failed']);
    const held = await world.rows(
      `SELECT result FROM webhook_events WHERE notice ->> 'paymentId' = $1 AND status = 'held'`,
      [order.paymentId],
    );
    expect(held).toEqual([{ result: 'unknown_refund' }]);
  });
});
