import { inTransaction } from '@app/timeout';
import type { LedgerEntry } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import {
  failed,
  made,
  pending,
  REFUSED,
  refundAttemptsOf,
} from '../../../../test/support/refund-attempts';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { FinishRefund } from '../ops/finish-refund';
import { Reconcile } from '../reconciling/reconcile';
import { RefundDeadline } from './refund.deadline';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const OLGA = { actor: 'olga', reason: 'case 9' };
const { paid, tell, read, refundsOf } = moneyOf(() => world);
const { owed, settle, comesDue, pauseIsOver, isAsked } = refundAttemptsOf(
  () => world,
  RefundDeadline,
);
const told = (id: string, attempt: 1 | 2) => ({
  idempotencyKey: attempt === 1 ? id : `${id}-2`,
  providerRefundId: `re-${attempt}`,
  amount: 300,
});

/** A canceled order that owes 300 by one refund, whose second attempt is under way, and 700 by another. */
const owedByTwo = async () => {
  const order = await paid();
  const id = await owed(order, 300);
  await isAsked(id);
  await settle(id, 1, REFUSED, 'answer');
  await pauseIsOver(id);
  await comesDue(id);
  await isAsked(id);
  await world.get(CancelOrderByOperator).cancel(order.id, OLGA);
  const sibling = (await refundsOf(order)).find((one) => one.id !== id)?.id as string;
  return { order, id, sibling };
};
/** The first of them has gone back by both its attempts, so that the other one was cut. */
const goneTwice = async () => {
  const { order, id, sibling } = await owedByTwo();
  await settle(id, 2, made(2), 'answer');
  await tell(order, 'refund.succeeded', told(id, 1));
  await comesDue(sibling);
  expect(await stateOf(order)).toEqual(['succeeded 300', 'canceled 700', 'requested 400']);
  return { order, id };
};
const stateOf = async (order: Placed) =>
  (await refundsOf(order)).map(({ status, amount }) => `${status} ${amount}`);
const reconciled = async (order: Placed, ...refunds: LedgerEntry['refunds']) => {
  const entry = world.provider.entries.get(`pay-${order.paymentId}`) as LedgerEntry;
  entry.refunds.push(...refunds);
  const since = new Date(Date.now() - 60_000);
  await world.get(Reconcile).run({ since, onDifference: () => undefined, fixFor: OLGA });
};
/** All that is owed still is made: in the end what came in has gone back once. */
const goesBackOnce = async (order: Placed) => {
  for (const { id, status } of await refundsOf(order)) {
    if (status !== 'requested') continue;
    await isAsked(id);
    await settle(id, 1, { state: 'SUCCEEDED', providerRefundId: `of-${id}` }, 'answer');
  }
  expect((await read(order)).balance).toMatchObject({ captured: 1_000, refunded: 1_000 });
};

describe('two refunds of a payment, one of which its provider makes by both its attempts', () => {
  it.each([
    ['second', 'webhook', { status: 'canceled' }],
    ['second', 'ledger', { status: 'canceled' }],
    ['first', 'webhook', { status: 'succeeded' }],
  ] as const)(
    'owe anew what the other was cut by once the %s fails, as its %s tells',
    async (which, by, became) => {
      const { order, id } = await goneTwice();
      if (which === 'first') await tell(order, 'refund.failed', told(id, 1));
      else if (by === 'webhook') await tell(order, 'refund.failed', told(id, 2));
      else {
        await reconciled(
          order,
          { id: 're-1', amount: 300, key: id },
          { id: 're-2', amount: 300, key: `${id}-2`, state: 'FAILED' },
        );
      }
      expect((await refundsOf(order))[0]).toMatchObject(became);
      expect((await stateOf(order)).slice(1)).toEqual([
        ...['canceled 700', 'requested 400', 'requested 300'],
      ]);
      await goesBackOnce(order);
    },
  );

  it('owe it anew once nobody holds the order any more', async () => {
    const { order, id } = await goneTwice();
    await inTransaction(world.drainDataSource, async (tx) => {
      await tx.rows('SELECT FROM orders WHERE id = $1 FOR NO KEY UPDATE', [order.id]);
      expect(await settle(id, 2, failed(2))).toBe('busy');
      await tell(order, 'refund.failed', told(id, 2));
    });
    await until('it is applied', async () => {
      await world.timeouts.runSweep();
      return (await stateOf(order)).includes('canceled 300');
    });
    await goesBackOnce(order);
  });

  it('owe it anew once an operator ends the one under way, whose first attempt is booked', async () => {
    const { order, id, sibling } = await owedByTwo();
    await settle(id, 2, pending(2), 'answer');
    await reconciled(
      order,
      { id: 're-1', amount: 300, key: id },
      { id: 're-2', amount: 300, key: `${id}-2`, state: 'PENDING' },
    );
    await comesDue(sibling);
    expect(await stateOf(order)).toEqual(['pending 300', 'canceled 700', 'requested 400']);
    await world.get(FinishRefund).finish(id, OLGA);
    expect((await stateOf(order))[0]).toBe('canceled 300');
    await goesBackOnce(order);
  });
});

describe('a refund that is over by its first attempt, as only the ledger tells', () => {
  it('stays so where the second, which was on its way, is refused', async () => {
    const { order, id } = await owedByTwo();
    await reconciled(order, { id: 're-1', amount: 300, key: id });
    expect(await settle(id, 2, REFUSED, 'answer')).toBe(false);
    expect(await stateOf(order)).toEqual(['succeeded 300', 'requested 700']);
    await goesBackOnce(order);
  });
});
