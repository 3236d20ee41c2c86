import type { LedgerEntry } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf } from '../../../../test/support/money';
import { refundAttemptsOf } from '../../../../test/support/refund-attempts';
import { openWorld, type World } from '../../../../test/support/world';
import { RefundDeadline } from '../money/refund.deadline';
import type { SettledAnswer } from '../money/settle-refunds';
import { Reconcile } from '../reconciling/reconcile';
import { FinishRefund } from './finish-refund';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const OLGA = { actor: 'olga', reason: 'bank transfer 4711' };
const REFUSED = { state: 'FAILED', providerRefundId: null, why: 'account closed' } as const;
const PENDING = { state: 'PENDING', providerRefundId: 're-1' } as const;
const MADE = { state: 'SUCCEEDED', providerRefundId: 're-1' } as const;

const { paid, tell, read, refundsOf } = moneyOf(() => world);
const { owed, settle, comesDue, pauseIsOver, isAsked } = refundAttemptsOf(
  () => world,
  RefundDeadline,
);
const finish = (id: string, dryRun = false, amount?: number) =>
  world.get(FinishRefund).finish(id, { ...OLGA, dryRun, amount });
const told = (id: string) => ({ idempotencyKey: id, providerRefundId: 're-1', amount: 300 });
const reconciled = async (orderId: string) => {
  const found: { orderId: string | null }[] = [];
  const onDifference = (one: { orderId: string | null }): void => void found.push(one);
  const since = new Date(Date.now() - 60_000);
  await world.get(Reconcile).run({ since, onDifference, fixFor: OLGA });
  return found.filter((one) => one.orderId === orderId);
};

const judge = { succeeded: () => undefined, failed: () => undefined };

/** A paid order that owes a refund, of which the provider has said this. */
const refusedRefund = async (...answers: SettledAnswer[]) => {
  const order = await paid();
  const id = await owed(order, 300);
  await isAsked(id);
  for (const answer of answers) await settle(id, 1, answer, 'answer');
  return { order, id };
};

describe('a refund whose money an operator has sent back by another way', () => {
  it.each([
    ['refused', [REFUSED]],
    ['pending', [PENDING]],
    ['asked for without an answer', []],
  ])('is over, where it was %s, and is written down', async (_, answers) => {
    const { order, id } = await refusedRefund(...answers);
    expect(await finish(id, true)).toMatchObject({ refund: { status: 'succeeded' } });
    expect((await read(order)).balance).toMatchObject({ refunded: 0 });
    expect(await finish(id)).toMatchObject({
      refund: { id, status: 'succeeded', attempt: 2, error: null },
      order: { id: order.id, balance: { refunded: 300 } },
    });
    expect(
      await world.rows('SELECT actor, action, reason FROM operator_actions WHERE subject_id = $1', [
        id,
      ]),
    ).toContainEqual({ ...OLGA, action: 'refund.done' });
    await pauseIsOver(id);
    await comesDue(id);
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded', attempt: 2 }]);
    expect(await reconciled(order.id)).toEqual([]);
    await expect(finish(id)).rejects.toMatchObject({ code: 'refund_not_settleable' });
  });

  it.each(['webhook', 'answer', 'ledger'] as const)(
    'has gone back twice where the provider has made it after all, as its %s tells',
    async (by) => {
      const { order, id } = await refusedRefund();
      const { refunds } = world.provider.entries.get(`pay-${order.paymentId}`) as LedgerEntry;
      if (by === 'answer') {
        world.provider.around = async (call, when) => {
          if (call === 'refund' && when === 'before') await finish(id);
        };
        const due = { kind: 'refund', subjectId: id, version: 1, dueAt: new Date(), failures: 0 };
        await world.get(RefundDeadline).afterCommit([due], judge);
        world.provider.around = async () => undefined;
      } else await finish(id);
      if (by !== 'answer') refunds.push({ id: 're-1', amount: 300, key: id });
      if (by === 'webhook') await tell(order, 'refund.succeeded', told(id));
      expect(await reconciled(order.id)).toHaveLength(by === 'ledger' ? 1 : 0);
      expect((await read(order)).balance).toMatchObject({ refunded: 600 });
      expect(world.told).toContainEqual({
        name: 'alert',
        args: ['refund_made_twice', expect.objectContaining({ refundId: id })],
      });
    },
  );

  it('has gone back once where the attempt under way fails', async () => {
    const { order, id } = await refusedRefund(PENDING);
    await finish(id);
    await tell(order, 'refund.failed', told(id));
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded' }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });

  it('is not taken for sent by hand while its provider says that it was made', async () => {
    const { order, id } = await refusedRefund(REFUSED);
    await pauseIsOver(id);
    await comesDue(id);
    await tell(order, 'refund.succeeded', told(id));
    await expect(finish(id)).rejects.toMatchObject({
      code: 'refund_not_settleable',
      message: expect.stringContaining('re-1') as string,
      fields: { providerRefundId: 're-1' },
    });
    await settle(id, 2, MADE, 'reconcile');
    await expect(finish(id)).rejects.toMatchObject({ fields: { status: 'succeeded' } });
  });

  it('is, once that has failed, too, though it was booked beside one that had ended the refund', async () => {
    const { order, id } = await refusedRefund(REFUSED);
    await pauseIsOver(id);
    await comesDue(id);
    await settle(id, 2, { state: 'SUCCEEDED', providerRefundId: 're-2' }, 'answer');
    await tell(order, 'refund.succeeded', told(id));
    await tell(order, 'refund.failed', told(id));
    await settle(id, 2, { state: 'FAILED', providerRefundId: 're-2', why: 'account closed' });
    expect(await refundsOf(order)).toMatchObject([{ status: 'needs_attention' }]);
    expect(await finish(id)).toMatchObject({ refund: { status: 'succeeded' } });
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });
});
