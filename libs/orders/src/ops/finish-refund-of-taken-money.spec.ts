import { inTransaction } from '@app/timeout';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { refundAttemptsOf } from '../../../../test/support/refund-attempts';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { ForeignMoney } from '../money/foreign-money';
import { RefundDeadline } from '../money/refund.deadline';
import { CancelOrderByOperator } from './cancel-order-by-operator';
import { FinishRefund } from './finish-refund';
import { RetryRefund } from './refunds';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const OLGA = { actor: 'olga', reason: 'bank transfer 4711' };
const REFUSED = { state: 'FAILED', providerRefundId: null, why: 'account closed' } as const;
const PENDING = { state: 'PENDING', providerRefundId: 're-1' } as const;

const { paid, tell, read, refundsOf, refunded, disputed } = moneyOf(() => world);
const { settle, comesDue, isAsked, untilOneWaits } = refundAttemptsOf(() => world, RefundDeadline);
const finish = (id: string, dryRun = false, amount?: number) =>
  world.get(FinishRefund).finish(id, { ...OLGA, dryRun, amount });
const told = (id: string) => ({ idempotencyKey: id, providerRefundId: 're-1', amount: 300 });

describe('a refund that nobody tries any more, of money that somebody else has taken meanwhile', () => {
  const asked = async () => {
    const order = await paid();
    await world.get(CancelOrderByOperator).cancel(order.id, OLGA);
    const [refund] = await refundsOf(order);
    const id = refund?.id as string;
    await isAsked(id);
    return { order, id };
  };
  const inAttention = async () => {
    const { order, id } = await asked();
    await settle(id, 1, { ...REFUSED, isForGood: true }, 'answer');
    expect(await refundsOf(order)).toMatchObject([{ status: 'needs_attention', amount: '1000' }]);
    return { order, id };
  };
  const retried = async (id: string) => {
    await new RetryRefund(world.dataSource, world.timeouts).retry(id, OLGA);
    await comesDue(id);
  };

  it('is not taken for sent by hand while the bank has it, and is owed no more once that is lost', async () => {
    const { order, id } = await inAttention();
    await disputed(order, 'opened');
    await expect(finish(id)).rejects.toMatchObject({
      code: 'refund_not_settleable',
      message: expect.stringContaining('a dispute is open') as string,
    });
    await disputed(order, 'lost');
    await expect(finish(id)).rejects.toMatchObject({
      code: 'refund_not_settleable',
      message: expect.stringContaining('refunds retry') as string,
      fields: { owed: 0 },
    });
    await retried(id);
    expect(await refundsOf(order)).toMatchObject([{ status: 'canceled' }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 0, disputed: 1_000 });
  });

  it('is for what is left where some of it goes back at this moment', async () => {
    const { order, id } = await inAttention();
    let isOver = false;
    let finishing: Promise<unknown> | undefined;
    await inTransaction(world.drainDataSource, async (tx) => {
      const of = { paymentId: order.paymentId, providerPaymentId: `pay-${order.paymentId}` };
      const move = { ...of, what: 'refund.succeeded', providerId: 're-now', amount: 600 } as const;
      expect(await world.get(ForeignMoney).record(tx, move, 'webhook')).toBe('recorded');
      finishing = finish(id)
        .catch((error: unknown) => error)
        .finally(() => (isOver = true));
      await Promise.race([untilOneWaits('%FOR NO KEY UPDATE%'), until('it is over', () => isOver)]);
    });
    expect(await finishing).toMatchObject({
      ...{ code: 'refund_not_settleable', fields: { owed: 400 } },
    });
    expect((await read(order)).balance).toMatchObject({ refunded: 600 });
  });

  it('is ended as owed no longer once the bank has decided, where its provider was asked and never answers', async () => {
    const { order, id } = await asked();
    await disputed(order, 'opened');
    await disputed(order, 'lost');
    expect(await finish(id)).toMatchObject({ refund: { status: 'canceled' } });
    expect((await read(order)).balance).toMatchObject({ refunded: 0, disputed: 1_000 });
  });

  it('is, once that is won', async () => {
    const { order, id } = await inAttention();
    await disputed(order, 'opened');
    await disputed(order, 'won');
    expect(await finish(id)).toMatchObject({ refund: { status: 'succeeded' } });
    expect((await read(order)).balance).toMatchObject({ refunded: 1_000, disputed: 0 });
  });

  it('is for what has not gone back by hand at the provider, and for no more', async () => {
    const { order, id } = await inAttention();
    await refunded(order, 600);
    await expect(finish(id, true)).rejects.toMatchObject({ fields: { owed: 400 } });
    await retried(id);
    const rest = (await refundsOf(order)).find((one) => one.id !== id);
    expect(rest).toMatchObject({ status: 'requested', amount: '400' });
    await finish(rest?.id as string);
    expect((await read(order)).balance).toMatchObject({ refunded: 1_000 });
  });

  describe('which its provider was asked for and never answers, or will never take, is, for what is still owed', () => {
    const partlyBack = async (begun: () => Promise<{ order: Placed; id: string }>) => {
      const { order, id } = await begun();
      await refunded(order, 600);
      return { order, id };
    };
    const pending = async () => {
      const { order, id } = await asked();
      await settle(id, 1, PENDING, 'answer');
      return { order, id };
    };

    it.each([
      ['asked for without an answer', asked],
      ['pending', pending],
      ['refused for good', inAttention],
    ])('by the amount that was sent, where it was %s', async (_, begun) => {
      const { order, id } = await partlyBack(begun);
      const before = await refundsOf(order);
      for (const amount of [undefined, 399, 401, 1_000]) {
        await expect(finish(id, false, amount)).rejects.toMatchObject({
          ...{ code: 'refund_not_settleable', fields: { owed: 400 } },
          message: expect.stringContaining('400 of 1000 EUR') as string,
        });
      }
      expect(await finish(id, true, 400)).toMatchObject({
        refund: { id, status: 'canceled' },
        rest: { amount: 400, status: 'succeeded' },
      });
      expect(await refundsOf(order)).toEqual(before);
      const { rest } = await finish(id, false, 400);
      expect(await refundsOf(order)).toMatchObject([
        { id, status: 'canceled', amount: '1000' },
        { id: rest?.id, status: 'succeeded', amount: '400', reason: 'operator_canceled' },
      ]);
      expect((await read(order)).balance).toMatchObject({ refunded: 1_000 });
      expect(
        await world.rows(
          `SELECT subject_id AS id FROM operator_actions WHERE action = 'refund.done'
              AND subject_id = ANY ($1::uuid[]) ORDER BY subject_id`,
          [[id, rest?.id]],
        ),
      ).toEqual([{ id }, { id: rest?.id }]);
      await comesDue(id);
      await comesDue(rest?.id as string);
      expect(await refundsOf(order)).toMatchObject([
        { status: 'canceled' },
        { status: 'succeeded' },
      ]);
      await expect(finish(id, false, 400)).rejects.toMatchObject({
        fields: { status: 'canceled' },
        message: expect.stringContaining('an operator has settled it already') as string,
      });
    });

    it('and is settled before more is sent, as it may be made still', async () => {
      const { id } = await partlyBack(pending);
      await expect(finish(id)).rejects.toThrow(/look at its statements first.*and send it last$/);
      const { id: refused } = await partlyBack(inAttention);
      await expect(finish(refused)).rejects.toThrow(/once that is sent, settle it/);
    });

    it('once, by two operators at once', async () => {
      const { order, id } = await partlyBack(asked);
      const both = await Promise.allSettled([finish(id, false, 400), finish(id, false, 400)]);
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect((await read(order)).balance).toMatchObject({ refunded: 1_000 });
    });

    it('and for nothing else where all of it is owed, or none', async () => {
      const whole = await asked();
      await expect(finish(whole.id, false, 400)).rejects.toMatchObject({ fields: { owed: 1_000 } });
      expect(await finish(whole.id, false, 1_000)).toMatchObject({
        refund: { status: 'succeeded' },
        rest: undefined,
      });
      const none = await asked();
      await refunded(none.order, 1_000);
      await expect(finish(none.id, false, 1_000)).rejects.toMatchObject({ fields: { owed: 0 } });
      expect(await finish(none.id)).toMatchObject({ refund: { status: 'canceled' } });
    });

    it('and has gone back twice where it is made after all, until that fails', async () => {
      const { order, id } = await partlyBack(asked);
      await finish(id, false, 400);
      const late = { ...told(id), amount: 1_000 };
      await tell(order, 'refund.succeeded', late);
      expect((await read(order)).balance).toMatchObject({ refunded: 2_000 });
      expect(world.told).toContainEqual({
        name: 'alert',
        args: ['refund_made_twice', expect.objectContaining({ refundId: id })],
      });
      await tell(order, 'refund.failed', late);
      expect((await read(order)).balance).toMatchObject({ refunded: 1_000 });
      expect(await refundsOf(order)).toHaveLength(2);
    });
  });
});
