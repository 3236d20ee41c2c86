import type { LedgerEntry } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf } from '../../../../test/support/money';
import {
  failed,
  made,
  pending,
  REFUSED,
  refundAttemptsOf,
} from '../../../../test/support/refund-attempts';
import { openWorld, type World } from '../../../../test/support/world';
import { RetryRefund } from '../ops/refunds';
import { Reconcile } from '../reconciling/reconcile';
import { RefundDeadline } from './refund.deadline';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const OLGA = { actor: 'olga', reason: 'case 9' };
const { paid, tell, read, refundsOf } = moneyOf(() => world);
const { owed, settle, comesDue, pauseIsOver, triedAgain, contradicted } = refundAttemptsOf(
  () => world,
  RefundDeadline,
);

const retry = (id: string) => new RetryRefund(world.dataSource, world.timeouts).retry(id, OLGA);

describe('a first attempt that only the ledger tells of, once the second has failed', () => {
  it('ends the refund: no third is sent', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await triedAgain(id, REFUSED);
    await settle(id, 2, REFUSED, 'answer');
    const { refunds } = world.provider.entries.get(`pay-${order.paymentId}`) as LedgerEntry;
    refunds.push({ id: 're-1', amount: 300, key: id });
    const since = new Date(Date.now() - 60_000);
    await world.get(Reconcile).run({ since, onDifference: () => undefined, fixFor: OLGA });
    await world.rows(`UPDATE refunds SET updated_at = now() - interval '1 day' WHERE id = $1`, [
      id,
    ]);
    await comesDue(id);
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded', attempt: 2 }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });
});

describe('a first attempt that only the ledger tells of, while the second is on its way', () => {
  it('ends the refund: the second is not sent, and is booked beside it where it was', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await settle(id, 1, REFUSED, 'answer');
    await pauseIsOver(id);
    await comesDue(id);
    expect(await refundsOf(order)).toMatchObject([{ status: 'requested', attempt: 2 }]);
    // Longer ago than the comparison began.
    await world.rows(`UPDATE refunds SET updated_at = now() - interval '1 hour' WHERE id = $1`, [
      id,
    ]);
    const { refunds } = world.provider.entries.get(`pay-${order.paymentId}`) as LedgerEntry;
    refunds.push({ id: 're-1', amount: 300, key: id });
    const since = new Date(Date.now() - 60_000);
    await world.get(Reconcile).run({ since, onDifference: () => undefined, fixFor: OLGA });
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded', attempt: 2 }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
    const second = { idempotencyKey: `${id}-2`, providerRefundId: 're-2', amount: 300 };
    await tell(order, 'refund.succeeded', second);
    expect((await read(order)).balance).toMatchObject({ refunded: 600 });
    await tell(order, 'refund.failed', second);
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded' }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });
});

describe('a second attempt beside a first that is said to be made', () => {
  it('is booked by the second, and the first by reconciling: the buyer has both', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await contradicted(id, pending(2));
    const alerts = world.told.filter(({ name }) => name === 'alert').map(({ args }) => args);
    expect(alerts).toContainEqual([
      'refund_contradiction',
      expect.objectContaining({ attempt: 1 }),
    ]);
    expect(await settle(id, 2, made(2))).toBe(true);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
    const { refunds } = world.provider.entries.get(`pay-${order.paymentId}`) as LedgerEntry;
    refunds.push({ id: 're-1', amount: 300, key: id }, { id: 're-2', amount: 300, key: `${id}-2` });
    const since = new Date(Date.now() - 60_000);
    await world.get(Reconcile).run({ since, onDifference: () => undefined, fixFor: OLGA });
    expect((await read(order)).balance).toMatchObject({ refunded: 600 });
  });

  it('takes nothing back by failing, once the first is booked', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await contradicted(id, pending(2));
    expect(await settle(id, 2, made(1), 'reconcile')).toBe(true);
    expect(await settle(id, 2, failed(2))).toBe(false);
    expect(await refundsOf(order)).toMatchObject([{ status: 'succeeded' }]);
    expect((await read(order)).balance).toMatchObject({ refunded: 300 });
  });

  it('is not booked by a success of the second that is told of after its failure', async () => {
    const order = await paid();
    const id = await owed(order, 300);
    await contradicted(id, pending(2));
    expect(await settle(id, 2, failed(2))).toBe(true);
    expect(await settle(id, 2, made(2))).toBe(false);
    expect(await refundsOf(order)).toMatchObject([{ status: 'needs_attention', attempt: 2 }]);
    expect(await retry(id)).toMatchObject({ status: 'requested', attempt: 3 });
  });

  it.each([
    ['asked after', pending(2), 'pending'],
    ['sent by the same key', undefined, 'requested'],
  ])('is %s, and not sent anew, as an operator retries it', async (_, second, status) => {
    const order = await paid();
    const id = await owed(order, 300);
    await contradicted(id, second);
    expect(await retry(id)).toMatchObject({ status, attempt: 2 });
    expect(await world.rows('SELECT FROM deadlines WHERE subject_id = $1', [id])).not.toHaveLength(
      0,
    );
    await settle(id, 2, failed(2), 'answer');
    expect(await refundsOf(order)).toMatchObject([{ status: 'failed', attempt: 2 }]);
  });
});
