import 'reflect-metadata';
import { CloseTarget, type TargetPayment } from '../../libs/orders/src/targets';
import type { Tx } from '../../libs/timeout/src/public';
import { EXPIRED, KIND, NumberedOrders, OPEN, PAID } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const LONG_MS = 3_600_000;
const ANN = { actor: 'ann', reason: 'the seats have other references now' };

/** A bug of the shop's: the payments of its orders are those of its seats as well. */
@CloseTarget({ kind: 'seat-close' })
class Seats extends NumberedOrders {
  hasPayments = true;

  override async findPayments(references: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    return this.hasPayments ? super.findPayments(references, tx) : [];
  }
}

/** Knows its payments by numbers, asked before the others: for what is none Postgres has an error. */
@CloseTarget({ kind: 'number-close' })
class Numbers extends NumberedOrders {
  override findPayments(ids: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    return tx.query('SELECT WHERE 0 = ANY ($1::int[])', [ids]);
  }
}

describe('a payment that two close targets have', () => {
  let shop: NumberedShop;
  beforeAll(async () => {
    shop = await openNumberedShop({ others: [Seats] });
  });
  afterAll(() => shop?.close());

  const isIn = async (id: string, state: number): Promise<boolean> => {
    const order = await shop.first('SELECT state FROM orders WHERE id = $1', [id]);
    return Number(order?.state) === state;
  };

  it('pays for neither until only one of them has it', async () => {
    const id = await shop.place(LONG_MS, ['p-1']);
    await shop.receive(shop.acme.pay('p-1', new Date()));
    const held = await until('the webhook is held', async () =>
      (await shop.targets.waiting()).find(({ subject }) => subject === 'p-1'),
    );
    expect(held).toMatchObject({ what: 'webhook_held', amount: 1_999 });
    expect(held.detail).toContain('reference_of_many');
    const fields = { provider: 'acme', paymentId: 'p-1', kinds: [KIND, 'seat-close'] };
    // Told behind the commit, which others see before.
    await until('it is told', () => shop.alerts.length > 0);
    expect(shop.alerts).toEqual([['payment_of_many', fields]]);
    expect(await isIn(id, OPEN)).toBe(true);
    shop.module.get(Seats).hasPayments = false;
    await shop.targets.settle(held.id, 'replay', ANN);
    await until('it is paid', () => isIn(id, PAID));
  });

  it('is not taken for ended where it is the other one that has ended', async () => {
    const orderId = await shop.place(LONG_MS, ['p-2']);
    await shop.targets.close({ kind: KIND, orderId }, 'canceled');
    await until('it is closed', () => isIn(orderId, EXPIRED));
    await shop.client.query('UPDATE orders SET state = $2 WHERE id = $1', [orderId, OPEN]);
    const closing = shop.targets.close({ kind: 'seat-close', orderId }, 'canceled');
    await expect(closing).rejects.toThrow(
      'The close target "seat-close": payment p-2 at acme is one of "order-close", too',
    );
    expect(await isIn(orderId, OPEN)).toBe(true);
  });

  it('has ended where that was recorded by a name that its target had before', async () => {
    const orderId = await shop.place(LONG_MS, ['p-3']);
    await shop.targets.close({ kind: KIND, orderId }, 'canceled');
    await until('it is closed', () => isIn(orderId, EXPIRED));
    const rename = `UPDATE lastcall.target_payments SET kind = 'renamed-close' WHERE payment_id = 'p-3'`;
    await shop.client.query(rename);
    await shop.client.query('UPDATE orders SET state = $2 WHERE id = $1', [orderId, OPEN]);
    expect(await shop.targets.close({ kind: KIND, orderId }, 'canceled')).toBe('closed');
  });
});

describe('a payment of one close target, for whose id another one fails', () => {
  let shop: NumberedShop;
  beforeAll(async () => {
    shop = await openNumberedShop({ others: [Numbers] });
  });
  afterAll(() => shop?.close());

  const untilPaid = (id: string) =>
    until('it is paid', async () => {
      const order = await shop.first('SELECT state FROM orders WHERE id = $1', [id]);
      return Number(order?.state) === PAID;
    });
  const notNumber = (id: string): string =>
    `findPayments of "number-close": QueryFailedError: invalid input syntax for type integer: "${id}"`;

  it('pays its order, and the failure is told', async () => {
    const id = await shop.place(LONG_MS, ['p-1']);
    await shop.receive(shop.acme.pay('p-1', new Date()));
    await untilPaid(id);
    await until('it is told', () => shop.failures.includes(notNumber('p-1')));
  });

  it('pays its order where it is told of beside one that nobody has yet', async () => {
    shop.acme.open({ paymentId: 'p-2', amount: 1_999, currency: 'EUR' });
    const late = shop.acme.pay('p-2', new Date());
    const id = await shop.place(LONG_MS, ['p-3']);
    await Promise.all([shop.receive(late), shop.receive(shop.acme.pay('p-3', new Date()))]);
    await untilPaid(id);
    const failed = `SELECT 1 FROM lastcall.deadlines d JOIN lastcall.timeout_subjects s ON s.id = d.subject_id
      WHERE s.kind = 'lastcall.webhook' AND d.failures > 0`;
    await until('the other is tried later', async () => (await shop.first(failed)) !== undefined);
    expect(await shop.targets.waiting()).toEqual([]);
    const other = await shop.place(LONG_MS, ['p-2']);
    await untilPaid(other);
  });
});
