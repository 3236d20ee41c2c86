import {
  type HostPostgres,
  type HostTransactions,
  openHostTransactions,
  type Tx,
} from '@app/timeout';
import assert from 'node:assert/strict';
import { CheckedTarget } from './checked-target';
import type { ClosesOrders, OpenOrder, PaidOrder, TargetPayment } from './close-target';

/** A close target, and the hands of the shop around it. */
export interface CloseTargetUnderTest {
  readonly target: ClosesOrders;
  /** The shop's database, as `TimeoutModule.forRoot` is told of it. */
  readonly postgres: HostPostgres;
  /** Writes an order that waits for payment, as the shop does; answers with its id, as text. */
  placeOrder(): Promise<string>;
  /**
   * Writes a payment that is open for this order, as the shop does before it asks its provider to open it; answers
   * with the shop's own id of it.
   */
  openPayment(orderId: string): Promise<string>;
  /** What the shop's own table says by now. */
  statusOf(orderId: string): Promise<'open' | 'closed' | 'paid'>;
  close?(): Promise<void>;
}

/** What this contract uses of Jest, Vitest or node:test (`beforeAll: before, afterAll: after`). */
export interface CloseTargetFramework {
  readonly describe: (name: string, body: () => void) => void;
  readonly it: (name: string, body: () => Promise<void>) => void;
  readonly beforeAll: (body: () => Promise<void>) => void;
  readonly afterAll: (body: () => Promise<void>) => void;
}

const MANY = 20;
const REASON = 'payment_timeout';

/**
 * What lastcall relies on of a shop's own table; run it over each `@CloseTarget`, against a real Postgres. Of a
 * test framework with globals the last argument is not needed.
 */
export function describeCloseTarget(
  name: string,
  setUp: () => Promise<CloseTargetUnderTest>,
  framework: CloseTargetFramework = globalThis,
): void {
  const { describe, it, beforeAll, afterAll } = framework;
  describe(`${name} as a close target`, () => {
    let shop: CloseTargetUnderTest;
    let target: CheckedTarget;
    let transactions: HostTransactions;
    beforeAll(async () => {
      shop = await setUp();
      target = new CheckedTarget(name, shop.target);
      transactions = await openHostTransactions(shop.postgres);
    });
    afterAll(async () => {
      await transactions?.close();
      await shop?.close?.();
    });

    const place = (count: number): Promise<string[]> => inTurn(count, () => shop.placeOrder());
    const lockOpen = async (ids: readonly string[], tx: Tx): Promise<OpenOrder[]> =>
      [...(await target.lockOpen(ids, tx))].map(([id, locked]) => ({ id, locked }));
    const closeNow = (ids: readonly string[]): Promise<void> =>
      transactions.run(async (tx) => {
        await target.lockOpen(ids, tx);
        await target.close(ids, REASON, tx);
      });
    const paymentOf = async (orderId: string): Promise<TargetPayment> => {
      const paymentId = await shop.openPayment(orderId);
      const found = await transactions.run((tx) => target.findPayments([paymentId], tx));
      assert.equal(found.length, 1, `findPayments gave ${found.length} payments of one id`);
      return found[0] as TargetPayment;
    };
    const payNow = async (orderId: string): Promise<TargetPayment> => {
      const payment = await paymentOf(orderId);
      await transactions.run(async (tx) => {
        await target.lockOpen([orderId], tx);
        await target.markPaid([paidBy(payment)], tx);
      });
      return payment;
    };
    const assertStatus = async (ids: readonly string[], status: string): Promise<void> => {
      for (const id of ids) assert.equal(await shop.statusOf(id), status, `order ${id}`);
    };

    it('locks the orders that wait for payment, and leaves out the others', async () => {
      const [open, closed, paid] = (await place(3)) as [string, string, string];
      await closeNow([closed]);
      await payNow(paid);
      const locked = await transactions.run((tx) => lockOpen([open, closed, paid], tx));
      assert.deepEqual(locked, [{ id: open, locked: true }]);
    });

    it('waits for nobody: what somebody is changing is not locked, and told of', async () => {
      const [held, free] = (await place(2)) as [string, string];
      await transactions.run(async (tx) => {
        await target.lockOpen([held], tx);
        const others = await transactions.run((other) => target.lockOpen([held, free], other));
        assert.equal(others.get(held), false, 'the row that another transaction has locked');
        assert.equal(others.get(free), true, 'the row that nobody has locked');
      });
    });

    it('closes many orders at once, and answers with all of them', async () => {
      const ids = await place(MANY);
      await closeNow(ids);
      await assertStatus(ids, 'closed');
    });

    it('asks the database as often for many orders as for one', async () => {
      const [[one], many] = [await place(1), await place(MANY)];
      const statementsFor = (ids: readonly string[]): Promise<number> =>
        transactions.run(async (tx) => {
          const [counted, count] = counting(tx);
          await target.lockOpen(ids, counted);
          await target.openPayments(ids, counted);
          await target.close(ids, REASON, counted);
          return count();
        });
      const alone = await statementsFor([one as string]);
      assert.equal(await statementsFor(many), alone, 'statements by tx.query');
    });

    it('closes nothing that is left undone in its transaction', async () => {
      const ids = await place(2);
      const undone = new Error('undone on purpose');
      const closing = transactions.run(async (tx) => {
        await target.lockOpen(ids, tx);
        await target.close(ids, REASON, tx);
        throw undone;
      });
      await assert.rejects(closing, (error) => error === undone);
      await assertStatus(ids, 'open');
    });

    it('marks as paid, and undoes that with its transaction, too', async () => {
      const [id] = (await place(1)) as [string];
      const payment = await paymentOf(id);
      const undone = new Error('undone on purpose');
      const paying = transactions.run(async (tx) => {
        await target.lockOpen([id], tx);
        await target.markPaid([paidBy(payment)], tx);
        throw undone;
      });
      await assert.rejects(paying, (error) => error === undone);
      await assertStatus([id], 'open');
      await payNow(id);
      await assertStatus([id], 'paid');
    });

    it('changes no order that has moved on', async () => {
      const [closed, paid] = (await place(2)) as [string, string];
      await closeNow([closed]);
      const late = await paymentOf(closed);
      await payNow(paid);
      const changed = await transactions.run(async (tx) => [
        ...(await shop.target.close([paid], REASON, tx)),
        ...(await shop.target.markPaid([paidBy(late)], tx)),
      ]);
      assert.deepEqual(changed, [], 'close and markPaid answer with what they changed');
      await assertStatus([paid], 'paid');
      await assertStatus([closed], 'closed');
    });

    it('finds open payments by their orders, and every payment by its id', async () => {
      const [order, stranger] = (await place(2)) as [string, string];
      const [mine, other] = [await paymentOf(order), await paymentOf(stranger)];
      const open = await transactions.run((tx) => target.openPayments([order], tx));
      assert.deepEqual(open, [mine]);
      assert.deepEqual([mine.orderId, other.orderId], [order, stranger]);
      await closeNow([order]);
      const found = await transactions.run((tx) => target.findPayments([mine.paymentId], tx));
      assert.equal(found[0]?.orderId, order, 'also where its order has moved on');
      const none = await transactions.run((tx) =>
        target.findPayments([`no-${mine.paymentId}`], tx),
      );
      assert.deepEqual(none, [], 'of a payment that is not there');
    });

    it('goes on counting an order behind the fence as one that waits for payment', async () => {
      const [id] = (await place(1)) as [string];
      const payment = await paymentOf(id);
      await transactions.run(async (tx) => {
        await target.lockOpen([id], tx);
        await target.fence([id], tx);
      });
      await transactions.run(async (tx) => {
        assert.deepEqual(await lockOpen([id], tx), [{ id, locked: true }]);
        const open = await target.openPayments([id], tx);
        assert.deepEqual(open, [payment], 'the provider has to be asked about it');
        await target.close([id], REASON, tx);
      });
      await assertStatus([id], 'closed');
    });
  });
}

const paidBy = (payment: TargetPayment): PaidOrder => {
  const { orderId: id, provider, paymentId, providerPaymentId, amount, currency } = payment;
  const money = { amount, currency, paidAt: new Date() };
  return { id, provider, paymentId, providerPaymentId: providerPaymentId ?? paymentId, money };
};

/** The same transaction, and how often it has been asked by `query`. */
function counting(tx: Tx): [Tx, () => number] {
  let count = 0;
  const query: Tx['query'] = (sql, params) => {
    count++;
    return tx.query(sql, params);
  };
  return [{ manager: tx.manager, query, afterCommit: (hook) => tx.afterCommit(hook) }, () => count];
}

async function inTurn<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < count) made.push(await make());
  return made;
}
