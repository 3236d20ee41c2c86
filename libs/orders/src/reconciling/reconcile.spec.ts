import { inTransaction } from '@app/timeout';
import type { LedgerEntry, Posted } from '../../../../test/support/ledger-provider';
import { paidUnheard, type Payable, paidOrder, receive } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { SettleRefunds } from '../money/settle-refunds';
import { CreateRefund } from '../ops/create-refund';
import { Gauges } from '../ops/gauges';
import { readOrders } from '../order/order-rows';
import { uuidv7 } from '../order/uuid';
import type { LedgerPayment } from '../providers/payment-provider';
import { type Difference, Reconcile, type ReconcileRequest } from './reconcile';
import { ReconcileRuns } from './reconcile-runs';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
let found: Difference[];
beforeEach(async () => {
  world = await openWorld();
  world.provider.ledgerPage = 2;
  found = [];
});
afterEach(() => world.close());

const WEEK_MS = 7 * 86_400_000;
const run = (options: Partial<ReconcileRequest> = {}) =>
  world.get(Reconcile).run({
    since: new Date(Date.now() - WEEK_MS),
    onDifference: (one) => void found.push(one),
    ...options,
  });
const openDifferences = async () => (await world.get(Gauges).read()).reconcileDifferences;
const alerts = () => world.told.filter(({ name }) => name === 'alert').map(({ args }) => args[0]);

interface Refunded {
  readonly id: string;
  readonly providerRefundId: string;
}
/** The provider has told us of its payment, some minutes ago, and knows nothing of it any more. */
async function forget({ paymentId }: Payable): Promise<void> {
  world.provider.entries.delete(`pay-${paymentId}`);
  const opened = `UPDATE payments SET created_at = now() - interval '5 minutes' WHERE id = $1`;
  await world.rows(opened, [paymentId]);
}

const entryOf = ({ paymentId }: Payable) =>
  world.provider.entries.get(`pay-${paymentId}`) as LedgerEntry;

/** One of 3.00 that the provider has carried out, and not told of yet. */
async function refundAtProvider(order: Payable): Promise<Refunded> {
  await world.get(CreateRefund).create(order.id, { ...OLGA, amount: 300 });
  const sql = 'SELECT id FROM refunds WHERE payment_id = $1';
  const [row] = await world.rows<{ id: string }>(sql, [order.paymentId]);
  const { id } = row as { id: string };
  entryOf(order).refunds.push({ id: `re-${id}`, amount: 300, key: id });
  return { id, providerRefundId: `re-${id}` };
}

/** What the provider's notice of it does. */
const tellOf = ({ id, providerRefundId }: Refunded): Promise<boolean | 'busy'> =>
  inTransaction(world.dataSource, (tx) =>
    world.get(SettleRefunds).settle(tx, id, 1, { state: 'SUCCEEDED', providerRefundId }, 'webhook'),
  );

describe('a comparison with the provider', () => {
  it('tells the name of a payment that an operator has settled as paid, so that its money can go back', async () => {
    const order = await paidOrder(world);
    await world.rows('UPDATE payments SET provider_payment_id = NULL WHERE id = $1', [
      order.paymentId,
    ]);
    expect(await run({ fixFor: OLGA })).toMatchObject({ differences: 1, fixed: 1 });
    expect(found).toMatchObject([{ what: 'reference', ours: null, fixed: true }]);
    const named = 'SELECT provider_payment_id AS name FROM payments WHERE id = $1';
    expect(await world.rows(named, [order.paymentId])).toEqual([
      { name: `pay-${order.paymentId}` },
    ]);
    expect(await run()).toMatchObject({ differences: 0 });
  });

  it('that was interrupted goes on behind its last page, and tells nothing twice', async () => {
    const orders: Payable[] = [];
    for (let i = 0; i < 5; i++) orders.push(await paidUnheard(world));
    const interruption = new AbortController();
    let pages = 0;
    world.provider.around = async (call) => {
      if (call === 'ledger' && (pages += 1) === 2) interruption.abort();
    };
    const first = await run({ signal: interruption.signal });
    world.provider.around = async () => undefined;
    expect(first).toMatchObject({ checked: 2, differences: 2 });
    expect(await openDifferences()).toBeNull();
    const rest = await run({ resume: first.runId });
    expect(rest).toEqual({ ...first, checked: 5, differences: 5 });
    expect(found.map(({ paymentId }) => paymentId)).toEqual(orders.map((one) => one.paymentId));
    await expect(run({ resume: first.runId })).rejects.toMatchObject({
      code: 'reconcile_run_over',
    });
    expect(await world.rows('SELECT FROM reconcile_seen')).toEqual([]);
  });

  it('settles nothing more once it is interrupted, and the rest when it goes on', async () => {
    await paidUnheard(world);
    await paidUnheard(world);
    const interruption = new AbortController();
    const onDifference = (): void => interruption.abort();
    const settling = { fixFor: OLGA, signal: interruption.signal, onDifference };
    const first = await run(settling);
    expect(first).toMatchObject({ checked: 0, differences: 1, fixed: 1 });
    const rest = await run({ resume: first.runId, fixFor: OLGA });
    expect(rest).toMatchObject({ checked: 2, differences: 2, fixed: 2 });
  });

  it('knows what the pages before have shown, when it looks for what is ours only', async () => {
    const paid = [await paidOrder(world), await paidOrder(world), await paidOrder(world)];
    const [, , forgotten] = paid as [Payable, Payable, Payable];
    await forget(forgotten);
    const interruption = new AbortController();
    world.provider.around = async () => interruption.abort();
    const { runId } = await run({ signal: interruption.signal });
    world.provider.around = async () => undefined;
    await run({ resume: runId });
    expect(found).toMatchObject([{ kind: 'ours_only', paymentId: forgotten.paymentId }]);
  });

  it('is not gone on with where there is none', async () => {
    const id = uuidv7();
    await expect(run({ resume: id })).rejects.toMatchObject({
      code: 'reconcile_run_not_found',
      message: `There is no run ${id}`,
    });
  });

  it('is closed by an operator: the same is told of no more, and what is new is', async () => {
    const closing = world.get(ReconcileRuns);
    await expect(closing.close(undefined, OLGA)).rejects.toMatchObject({
      code: 'reconcile_nothing_open',
      message: 'No comparison has come to its end: nothing is open',
    });
    const order = await paidUnheard(world);
    const { runId } = await run();
    expect(await openDifferences()).toBe(1);
    expect(await closing.close(undefined, OLGA)).toEqual({ id: runId, differences: 1 });
    expect(await openDifferences()).toBe(0);
    await expect(closing.close(runId, OLGA)).rejects.toMatchObject({
      code: 'reconcile_nothing_open',
    });
    expect(await world.rows('SELECT actor, action, subject_id FROM operator_actions')).toEqual([
      { actor: 'olga', action: 'reconcile.close', subject_id: runId },
    ]);
    expect(await run()).toMatchObject({ differences: 1, closed: 1 });
    expect(await openDifferences()).toBe(0);
    await paidUnheard(world);
    expect(await run()).toMatchObject({ differences: 2, closed: 1 });
    expect(await openDifferences()).toBe(1);
    expect((await readOrders(world, [order.id])).get(order.id)?.status).toBe('pending_payment');
  });

  it('ends a refund that somebody has made by hand, as its notice would have, and once', async () => {
    const order = await paidOrder(world);
    const refunds = () =>
      world.rows<{ id: string; status: string }>('SELECT id, status FROM refunds');
    await world.get(CreateRefund).create(order.id, { ...OLGA, amount: 300 });
    const id = (await refunds())[0]?.id as string;
    const failed = { state: 'FAILED', providerRefundId: 're-1', why: 'account closed' } as const;
    await inTransaction(world.dataSource, (tx) =>
      world.get(SettleRefunds).settle(tx, id, 1, failed, 'webhook'),
    );
    const late = world.provider.refundedByHand(entryOf(order), 300) as Posted;
    await run({ fixFor: OLGA });
    expect(await refunds()).toEqual([{ id, status: 'succeeded' }]);
    await receive(world, late);
    const [read] = [...(await readOrders(world, [order.id])).values()];
    expect(read?.balance).toMatchObject({ refunded: 300 });
  });

  it('leaves to the next run what has happened since its page was read', async () => {
    const [refunded, paid] = [await paidOrder(world), await paidUnheard(world)];
    const { provider } = world;
    const ledger = provider.ledger.bind(provider);
    provider.ledger = async function* (...args) {
      for await (const page of ledger(...args)) {
        const [first, second] = page.payments as [LedgerPayment, LedgerPayment];
        await tellOf(await refundAtProvider(refunded));
        await receive(world, provider.succeeded(entryOf(paid)));
        yield { ...page, payments: [first, { ...second, captured: null }] };
      }
    };
    expect(await run()).toMatchObject({ checked: 2, differences: 0 });
    provider.ledger = ledger;
    entryOf(refunded).refunds.length = 0;
    entryOf(paid).money = undefined;
    await run();
    expect(found).toMatchObject([
      { kind: 'ours_only', subject: 'refund', ours: 'succeeded 300' },
      { kind: 'different', subject: 'payment', ours: 'succeeded 1000 EUR' },
    ]);
  });

  it('has nothing left of a refund whose notice comes while the books are compared', async () => {
    const refunds: Refunded[] = [];
    for (let i = 0; i < 2; i++) refunds.push(await refundAtProvider(await paidOrder(world)));
    const onDifference = () => Promise.all(refunds.map(tellOf)).then(() => undefined);
    const counts = await run({ fixFor: OLGA, onDifference });
    expect(counts).toMatchObject({ differences: 2, fixed: 2 });
  });

  it('settles at night what is safe, in one of several workers, and calls for the rest', async () => {
    const order = await paidUnheard(world);
    const gone = await paidOrder(world);
    await forget(gone);
    const beside = await openWorld({ beside: world });
    const workers = [world, beside].map((one) => one.get(Reconcile).runOnce());
    const counts = (await Promise.all(workers)).filter((one) => one !== undefined);
    await beside.close();
    expect(counts).toMatchObject([{ differences: 2, fixed: 1, closed: 0 }]);
    expect((await readOrders(world, [order.id])).get(order.id)?.status).toBe('paid');
    expect(await openDifferences()).toBe(1);
    const told = [...alerts(), ...beside.told.map(({ args }) => args[0])];
    expect(told.filter((what) => what === 'reconcile_differences')).toHaveLength(1);
  });

  it('settles at night also what an operator has just looked at, and left', async () => {
    await paidUnheard(world);
    const interruption = new AbortController();
    world.provider.around = async () => interruption.abort();
    await run({ signal: interruption.signal });
    world.provider.around = async () => undefined;
    await run();
    expect(await world.get(Reconcile).runOnce()).toMatchObject({ differences: 1, fixed: 1 });
    expect(await openDifferences()).toBe(0);
  });

  it('goes on at night with what another worker did not live to end', async () => {
    for (let i = 0; i < 3; i++) await paidUnheard(world);
    const interruption = new AbortController();
    world.provider.around = async () => interruption.abort();
    const first = await world.get(Reconcile).runOnce(interruption.signal);
    world.provider.around = async () => undefined;
    const second = await world.get(Reconcile).runOnce();
    expect(second).toMatchObject({ runId: first?.runId, differences: 3, fixed: 3 });
    expect(alerts()).not.toContain('reconcile_differences');
  });
});
