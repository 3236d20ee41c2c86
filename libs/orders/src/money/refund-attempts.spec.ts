import { inTransaction } from '@app/timeout';
import type { LedgerEntry } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf } from '../../../../test/support/money';
import {
  failed,
  made,
  pending,
  REFUSED,
  refundAttemptsOf,
} from '../../../../test/support/refund-attempts';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { Reconcile } from '../reconciling/reconcile';
import { RefundDeadline } from './refund.deadline';
import { type SettledAnswer, SettleRefunds } from './settle-refunds';

let world: World;
beforeAll(async () => (world = await openWorld({ waitsForLocks: true })));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const OLGA = { actor: 'olga', reason: 'case 9' };
const { paid, tell, refunded, read, refundsOf } = moneyOf(() => world);
const { owed, settle, untilOneWaits, triedAgain, contradicted } = refundAttemptsOf(
  () => world,
  RefundDeadline,
);
const firstOf = (id: string) => ({ idempotencyKey: id, providerRefundId: 're-1', amount: 300 });

describe('a success that is told of late, of an attempt that has failed', () => {
  it.each([
    ['before it was known here', [pending(1), failed(1)]],
    ['after it was booked', [made(1), failed(1)]],
  ])('%s keeps the next attempt from nothing', async (_, [first, last]) => {
    const order = await paid();
    const id = await owed(order, 300);
    await settle(id, 1, first as SettledAnswer, 'answer');
    await triedAgain(id, last as SettledAnswer, pending(2));
    await tell(order, 'refund.succeeded', firstOf(id));
    expect(await refundsOf(order)).toMatchObject([{ status: 'pending', attempt: 2 }]);
    await settle(id, 2, made(2), 'answer');
    await tell(order, 'refund.succeeded', firstOf(id));
    await tell(order, 'refund.failed', firstOf(id));
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded', attempt: 2 }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });

  it('is one also where the failure is being recorded at this moment', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    let telling: Promise<boolean | 'busy'> | undefined;
    await inTransaction(world.dataSource, async (tx) => {
      await world.get(SettleRefunds).settle(tx, id, 1, failed(1), 'answer');
      telling = inTransaction(world.drainDataSource, (other) =>
        world.get(SettleRefunds).settle(other, id, 1, made(1), 'webhook'),
      );
      await untilOneWaits('%FOR NO KEY UPDATE OF r%');
    });
    expect(await telling).toBe(false);
    expect(await refundsOf(order)).toMatchObject([{ status: 'failed' }]);
  });

  it('leaves what was paid out by hand since alone', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await settle(id, 1, failed(1), 'answer');
    await refunded(order, 300, 're-by-hand');
    await tell(order, 'refund.failed', { ...firstOf(id), why: 'account closed' });
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded', attempt: 1 }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });
});

describe('a first attempt that is told of once a second has succeeded', () => {
  const alertsOf = (name: string) =>
    world.told.filter(({ name: kind, args }) => kind === 'alert' && args[0] === name);
  const secondMade = async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await triedAgain(id, REFUSED, made(2));
    return { order, id };
  };
  const reconciled = async () => {
    const found: unknown[] = [];
    const since = new Date(Date.now() - 60_000);
    const onDifference = (one: unknown): void => void found.push(one);
    await world.get(Reconcile).run({ since, onDifference, fixFor: OLGA });
    return found;
  };
  const ledgerOf = (paymentId: string) =>
    world.provider.entries.get(`pay-${paymentId}`) as LedgerEntry;

  it('is booked as it is told, once: the buyer has both', async () => {
    const { order, id } = await secondMade();
    for (let told = 0; told < 2; told++) await tell(order, 'refund.succeeded', firstOf(id));
    expect((await read(order)).balance).toMatchObject({ refunded: 600 });
    expect(alertsOf('refund_made_twice').at(-1)).toMatchObject({
      args: ['refund_made_twice', { refundId: id, providerId: 're-1', amount: 300 }],
    });
    ledgerOf(order.paymentId).refunds.push(
      { id: 're-1', amount: 300, key: id },
      { id: 're-2', amount: 300, key: `${id}-2` },
    );
    expect(await reconciled()).not.toContainEqual(expect.objectContaining({ orderId: order.id }));
    expect((await read(order)).balance).toMatchObject({ refunded: 600 });
  });

  it('is booked also where that was told of while the second was under way', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await triedAgain(id, REFUSED, pending(2));
    await tell(order, 'refund.succeeded', firstOf(id));
    expect(await refundsOf(order)).toMatchObject([{ status: 'needs_attention' }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 0 });
    await settle(id, 2, made(2), 'answer');
    await world.timeouts.runSweep();
    expect((await read(order)).balance).toMatchObject({ refunded: 600 });
  });

  it('is booked also where both are told of at once', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await triedAgain(id, REFUSED, pending(2));
    const second = { idempotencyKey: `${id}-2`, providerRefundId: 're-2', amount: 300 };
    // Somebody has the refund, so that they are stored, and applied together once it is free.
    await inTransaction(world.drainDataSource, async (tx) => {
      await tx.rows('SELECT FROM refunds WHERE id = $1 FOR NO KEY UPDATE', [id]);
      await tell(order, 'refund.succeeded', firstOf(id));
      await tell(order, 'refund.succeeded', second);
    });
    // Put back for a second where they were tried while somebody had it.
    await until('both are booked', async () => {
      await world.timeouts.runSweep();
      return (await read(order)).balance.refunded === 600;
    });
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded', attempt: 2 }]);
  });

  it.each(['first', 'second'])('counts no longer where the %s fails after all', async (which) => {
    const { order, id } = await secondMade();
    await tell(order, 'refund.succeeded', firstOf(id));
    if (which === 'first') await tell(order, 'refund.failed', firstOf(id));
    else await settle(id, 2, failed(2));
    const status = which === 'first' ? 'succeeded' : 'canceled';
    expect(await refundsOf(order)).toMatchObject([{ status }]);
    const stands = which === 'first' ? { id: 're-2', key: `${id}-2` } : { id: 're-1', key: id };
    ledgerOf(order.paymentId).refunds.push({ ...stands, amount: 300 });
    expect(await reconciled()).not.toContainEqual(expect.objectContaining({ orderId: order.id }));
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });

  it('is owed anew where the second fails and then the first, too', async () => {
    const { order, id } = await secondMade();
    await tell(order, 'refund.succeeded', firstOf(id));
    await settle(id, 2, failed(2));
    for (let told = 0; told < 2; told++) await tell(order, 'refund.failed', firstOf(id));
    expect(await refundsOf(order)).toMatchObject([
      { status: 'canceled' },
      { status: 'requested', reason: 'operator', amount: '300', attempt: 1 },
    ]);
    expect((await read(order)).balance).toMatchObject({ refunded: 0 });
  });

  it('is an old story where its failure was told of before', async () => {
    const { order, id } = await secondMade();
    await tell(order, 'refund.failed', firstOf(id));
    await tell(order, 'refund.succeeded', firstOf(id));
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });

  it('is booked also of a refund that somebody made by hand instead', async () => {
    const order = await paid();
    const id = await owed(order, 1_000);
    await settle(id, 1, REFUSED, 'answer');
    await refunded(order, 1_000, `by-hand-${id}`);
    await tell(order, 'refund.succeeded', { ...firstOf(id), amount: 1_000 });
    expect((await read(order)).balance).toMatchObject({ refunded: 2_000 });
  });

  it('is what ended it, where reconciling says so, and is owed anew once it fails', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await contradicted(id, pending(2));
    await settle(id, 2, made(1), 'reconcile');
    await tell(order, 'refund.failed', firstOf(id));
    expect(await refundsOf(order)).toMatchObject([{ status: 'needs_attention' }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 0 });
  });
});

describe('a refund that its provider will never take, such as 1.235 KWD at Stripe', () => {
  it('waits for an operator at once, and says why', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await settle(id, 1, { ...REFUSED, why: 'in steps of 10 only', isForGood: true }, 'answer');
    expect(await refundsOf(order)).toMatchObject([{ status: 'needs_attention', attempt: 1 }]);
    expect(await world.rows('SELECT error FROM refunds WHERE id = $1', [id])).toEqual([
      { error: 'in steps of 10 only' },
    ]);
    expect(world.told).toContainEqual({
      name: 'alert',
      args: ['refund_needs_attention', expect.objectContaining({ refundId: id })],
    });
  });
});
