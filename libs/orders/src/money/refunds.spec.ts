import { inTransaction } from '@app/timeout';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { refundAttemptsOf } from '../../../../test/support/refund-attempts';
import { openWorld, type World } from '../../../../test/support/world';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { cancelUnowed } from './cancel-unowed';
import { ForeignMoney } from './foreign-money';
import { RefundDeadline } from './refund.deadline';

let world: World;
beforeAll(async () => (world = await openWorld({ waitsForLocks: true })));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const FAILED = { state: 'FAILED', providerRefundId: 're-1', why: 'account closed' } as const;
const { paid, tell, refunded, disputed, read, refundsOf } = moneyOf(() => world);

const { owed, settle, comesDue, pauseIsOver, isAsked, untilOneWaits } = refundAttemptsOf(
  () => world,
  RefundDeadline,
);

const ownKey = (id: string) => ({ idempotencyKey: id, providerRefundId: 're-1', amount: 1_000 });

describe('a refund that is owed no longer', () => {
  it.each([
    [
      'has gone back by hand',
      async (order: Placed) => {
        await refunded(order, 600);
        await refunded(order, 400);
      },
    ],
    ['was lost in a dispute', (order: Placed) => disputed(order, 'lost')],
  ])('as its money %s stays canceled, whatever is told of it again', async (_, took) => {
    const order = await paid();
    const id = await owed(order, 1_000);
    await settle(id, 1, FAILED);
    await took(order);
    await comesDue(id);
    expect(await refundsOf(order)).toMatchObject([{ status: 'canceled' }]);
    const { balance } = await read(order);
    await tell(order, 'refund.failed', { ...ownKey(id), why: 'account closed' });
    await tell(order, 'refund.succeeded', ownKey(id));
    expect(await refundsOf(order)).toMatchObject([{ status: 'canceled', attempt: 1 }]);
    expect((await read(order)).balance).toEqual(balance);
  });

  it('stays canceled also where its failure named no refund, and is told of again with one', async () => {
    const order = await paid();
    const id = await owed(order, 1_000);
    await settle(id, 1, { ...FAILED, providerRefundId: null });
    await disputed(order, 'lost');
    await comesDue(id);
    await tell(order, 'refund.failed', { ...ownKey(id), why: 'account closed' });
    expect(await refundsOf(order)).toMatchObject([{ status: 'canceled', attempt: 1 }]);
  });

  it('is seen to its end where the provider is being asked for it at this moment', async () => {
    const order = await paid();
    const id = await owed(order, 800);
    await refunded(order, 600);
    let canceling: Promise<void> | undefined;
    await inTransaction(world.dataSource, async (tx) => {
      await tx.rows('UPDATE refunds SET asked_at = now() WHERE id = $1', [id]);
      canceling = inTransaction(world.drainDataSource, (other) =>
        cancelUnowed(other, world.timeouts, [id]),
      );
      await untilOneWaits("%'canceled'%");
    });
    await canceling;
    expect(await refundsOf(order)).toMatchObject([{ status: 'requested', amount: '800' }]);
    // Nothing was asked of any provider here: the shop owes no more than there was.
    await world.rows('UPDATE refunds SET asked_at = NULL WHERE id = $1', [id]);
    await comesDue(id);
    expect(await refundsOf(order)).toMatchObject([
      { status: 'canceled' },
      { status: 'requested', amount: '400' },
    ]);
  });
});

describe('refunds of more than is owed', () => {
  const judge = { succeeded: () => undefined, failed: () => undefined };

  const OLGA = { actor: 'olga', reason: 'case 9' };
  const cancel = ({ id }: Placed) => world.get(CancelOrderByOperator).cancel(id, OLGA);
  const owedOf = async (order: Placed) => {
    const refunds = (await refundsOf(order)).filter(({ status }) => status === 'requested');
    return refunds.reduce((sum, { amount }) => sum + Number(amount), 0);
  };

  it('leave what comes back from the provider at that moment to go out, too', async () => {
    const order = await paid();
    await refunded(order, 300);
    await cancel(order);
    const [refund] = await refundsOf(order);
    await refunded(order, 250, 're-back');
    const about = { paymentId: order.paymentId, providerPaymentId: `pay-${order.paymentId}` };
    const move = { ...about, what: 'refund.failed', providerId: 're-back', amount: 250 } as const;
    await inTransaction(world.drainDataSource, async (tx) => {
      expect(await world.get(ForeignMoney).record(tx, move, 'webhook')).toBe('recorded');
      await comesDue(refund?.id ?? '');
    });
    expect(await owedOf(order)).toBe(700);
  });

  it('are not asked for while somebody is changing their order', async () => {
    const order = await paid();
    const id = await owed(order, 1_000);
    await refunded(order, 600);
    await inTransaction(world.drainDataSource, async (tx) => {
      await tx.rows('SELECT FROM orders WHERE id = $1 FOR UPDATE', [order.id]);
      await comesDue(id);
      const due = { kind: 'refund', subjectId: id, version: 1, dueAt: new Date(), failures: 0 };
      await world.get(RefundDeadline).afterCommit([due], judge);
    });
    expect(await refundsOf(order)).toMatchObject([{ status: 'requested', amount: '1000' }]);
    await comesDue(id);
    expect(await refundsOf(order)).toMatchObject([{ status: 'canceled' }, { amount: '400' }]);
  });

  it('are canceled one after the other by two that look at the same moment', async () => {
    const order = await paid();
    await owed(order, 400);
    await cancel(order);
    const [one, other] = await refundsOf(order);
    await refunded(order, 500);
    await inTransaction(world.drainDataSource, async (tx) => {
      await cancelUnowed(tx, world.timeouts, [one?.id ?? '']);
      await comesDue(other?.id ?? '');
    });
    await comesDue(other?.id ?? '');
    expect(await owedOf(order)).toBe(500);
  });
});

describe('a refund at the provider', () => {
  const asked = (subjectId: string) => {
    const due = { kind: 'refund', subjectId, version: 1, dueAt: new Date(), failures: 0 };
    const judge = { succeeded: () => undefined, failed: () => undefined };
    return world.get(RefundDeadline).afterCommit([due], judge);
  };
  const listed = (id: string) =>
    world.rows('SELECT status, error FROM refunds WHERE id = $1', [id]);

  it('that says nothing of it tells operators why, until it does', async () => {
    const id = await owed(await paid(), 300);
    const silent = jest.spyOn(world.provider, 'refund');
    silent.mockResolvedValue({ state: 'UNKNOWN', why: 'status 401' });
    await asked(id);
    expect(await listed(id)).toEqual([{ status: 'requested', error: 'status 401' }]);
    silent.mockRestore();
    await asked(id);
    expect(await listed(id)).toEqual([{ status: 'succeeded', error: null }]);
  });

  it('that is on its way is asked after until it is over, though nothing is told of it', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    const slow = jest.spyOn(world.provider, 'refund');
    slow.mockResolvedValue({ state: 'PENDING', providerRefundId: `re-${id}` });
    await asked(id);
    expect(await listed(id)).toEqual([{ status: 'pending', error: null }]);
    slow.mockRestore();
    await asked(id);
    expect(await listed(id)).toEqual([{ status: 'succeeded', error: null }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });

  it('that fails tells operators why, in the words of its webhook', async () => {
    const order = await paid();
    const id = await owed(order, 1_000);
    await isAsked(id);
    await tell(order, 'refund.failed', { ...ownKey(id), why: 'account closed' });
    expect(await listed(id)).toEqual([{ status: 'failed', error: 'account closed' }]);
  });

  it('is none of the same amount that somebody makes by hand meanwhile', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await isAsked(id);
    await refunded(order, 300, 're-by-hand');
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
    await tell(order, 'refund.succeeded', { ...ownKey(id), amount: 300 });
    expect((await read(order)).balance).toMatchObject({ refunded: 600 });
  });

  it('is made by hand where no attempt is under way', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await settle(id, 1, FAILED);
    await refunded(order, 300, 're-by-hand');
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded' }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });
});

describe('a refund that somebody made by hand', () => {
  it('is told of again without being taken for ours that is still owed', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await isAsked(id);
    await refunded(order, 300, 're-by-hand');
    await settle(id, 1, FAILED);
    await refunded(order, 300, 're-by-hand');
    expect(await refundsOf(order)).toMatchObject([{ status: 'failed' }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });

  it.each(['failed', 'requested'])(
    'and that failed is not taken for ours, which is %s, in whatever order that is told',
    async (status) => {
      const order = await paid();
      const id = await owed(order, 300);
      if (status === 'failed') await settle(id, 1, FAILED);
      const byHand = { providerRefundId: 're-by-hand', amount: 300, why: 'account closed' };
      await tell(order, 'refund.failed', byHand);
      await refunded(order, 300, 're-by-hand');
      expect(await refundsOf(order)).toMatchObject([{ status }]);
      expect((await read(order)).balance).toMatchObject({ refunded: 0 });
    },
  );
});

describe('a refund that failed', () => {
  it('is tried anew when its pause is over, whatever comes due before', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await settle(id, 1, FAILED);
    // As if it failed in a minute: its pause ends not while this machine stands still.
    await world.rows(
      `UPDATE refunds SET updated_at = updated_at + interval '1 minute' WHERE id = $1`,
      [id],
    );
    await comesDue(id);
    expect(await refundsOf(order)).toMatchObject([{ status: 'failed', attempt: 1 }]);
    await pauseIsOver(id);
    await comesDue(id);
    expect(await refundsOf(order)).toMatchObject([{ status: 'requested', attempt: 2 }]);
  });

  it('has its deadline again where that was lost, at the end of its pause', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await settle(id, 1, FAILED);
    await world.rows('DELETE FROM deadlines WHERE subject_id = $1', [id]);
    await comesDue(id);
    const armed = await world.rows('SELECT FROM deadlines WHERE subject_id = $1', [id]);
    expect(armed).toHaveLength(1);
  });

  it('and has gone back after all is settled by what the ledger says', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await settle(id, 1, { state: 'FAILED', providerRefundId: null, why: 'try later' });
    await pauseIsOver(id);
    await comesDue(id);
    const success = { state: 'SUCCEEDED', providerRefundId: 're-1' } as const;
    await settle(id, 1, success);
    expect(await refundsOf(order)).toMatchObject([{ status: 'needs_attention', attempt: 2 }]);
    expect(await settle(id, 2, success, 'reconcile')).toBe(true);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });
});
