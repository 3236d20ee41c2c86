import { randomUUID } from 'node:crypto';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { CancelOrder } from '../closing/cancel-order';
import { ADVISORY_LOCKS } from '../order/advisory-locks';
import { LastcallError } from '../order/errors';
import { uuidsBetween } from '../order/uuid';
import { Retention } from '../retention';
import { PlaceOrder } from './place-order';

/** What one customer may hold of the shop's stock without paying for it. */

let world: World;
beforeAll(async () => {
  world = await openWorld({
    settings: {
      MAX_OPEN_ORDERS: '5',
      MAX_HELD_UNITS: '60',
      MAX_HELD_SHARE: '20%',
      MAX_UNPAID_IN_A_ROW: '3',
    },
  });
  for (const sku of ['TEA', 'POT', 'FREE']) await insertProduct(world, sku, 100_000);
  await insertProduct(world, 'CUP', 100);
  await insertProduct(world, 'RARE', 12);
  await world.rows(`UPDATE products SET unit_price = 0 WHERE sku = 'FREE'`);
});
afterAll(() => world?.close());

async function order(customerId: string, items: Record<string, number>): Promise<string> {
  const { order } = await world.get(PlaceOrder).place({
    customerId,
    idempotencyKey: randomUUID(),
    items: Object.entries(items).map(([sku, quantity]) => ({ sku, quantity })),
  });
  return order.id;
}

async function refusal(customerId: string, items: Record<string, number>): Promise<LastcallError> {
  try {
    await order(customerId, items);
  } catch (error) {
    if (error instanceof LastcallError) return error;
    throw error;
  }
  throw new Error('the order was placed');
}

/** Ends orders as closing or paying would, as far as the limits look at it. */
const end = (ids: readonly string[], how: 'paid' | 'payment_timeout' | 'operator_closed') =>
  world.rows(
    how === 'paid'
      ? `UPDATE orders SET status = 'paid', paid_at = now() WHERE id = ANY ($1::uuid[])`
      : `UPDATE orders SET status = 'closed', closed_at = now(), close_reason = $2
          WHERE id = ANY ($1::uuid[])`,
    how === 'paid' ? [ids] : [ids, how],
  );

/** Hers is tried for its time, and then refused; twenty strangers are placed meanwhile. */
async function expectOnlyHersWaits(customerId: string): Promise<void> {
  let hers: unknown;
  const refused = order(customerId, { TEA: 1 }).catch((error: unknown) => (hers = error));
  await Promise.all(Array.from({ length: 20 }, () => order(randomUUID(), { TEA: 1 })));
  // They were placed while hers was still tried.
  expect(hers).toBeUndefined();
  expect(await refused).toMatchObject({ code: 'busy' });
}

it('of one whom another process is at is waited for by nobody else', async () => {
  const ann = randomUUID();
  const other = await beginHeldOpen(world.dataSource);
  await other.query(`SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.customer}, hashtext($1))`, [
    ann,
  ]);
  await expectOnlyHersWaits(ann);
  await other.rollbackTransaction();
  await other.release();
  expect(await order(ann, { TEA: 1 })).toEqual(expect.any(String));
});

describe.each(['unpaid_orders', 'unpaid_streaks'])('whose rows of %s somebody holds', (table) => {
  it('is waited for by nobody else', async () => {
    const ann = randomUUID();
    // Of the first one the streak is known, of the second there is news.
    for (let nth = 0; nth < 2; nth++) await end([await order(ann, { TEA: 1 })], 'payment_timeout');
    const other = await beginHeldOpen(world.dataSource);
    const held = (await other.query(`SELECT FROM ${table} WHERE customer_id = $1 FOR UPDATE`, [
      ann,
    ])) as unknown[];
    expect(held).toHaveLength(1);
    await expectOnlyHersWaits(ann);
    await other.rollbackTransaction();
    await other.release();
    await end([await order(ann, { TEA: 1 })], 'payment_timeout');
    // All three were counted, each once.
    expect(await refusal(ann, { TEA: 1 })).toMatchObject({ code: 'ordering_paused' });
  });
});

describe('open orders', () => {
  it('are counted however many others have come and gone since', async () => {
    const ann = randomUUID();
    for (let i = 0; i < 3; i++) await order(ann, { TEA: 1 });
    await world.rows(
      `INSERT INTO orders (id, customer_id, status, amount, currency, late_payment, closed_at)
       SELECT ('ffffffff-ffff-7fff-8fff-' || lpad(i::text, 12, '0'))::uuid, $1, 'closed', 1, 'EUR',
              'refund', now() FROM generate_series(1, 500) AS i`,
      [ann],
    );
    await order(ann, { TEA: 1 });
    await order(ann, { TEA: 1 });
    expect(await refusal(ann, { TEA: 1 })).toMatchObject({ code: 'too_many_open_orders' });
  });

  it('make room as soon as one is paid or closed', async () => {
    const ann = randomUUID();
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await order(ann, { TEA: 1 }));
    await end(ids.slice(0, 1), 'paid');
    await order(ann, { TEA: 1 });
    expect(await refusal(ann, { TEA: 1 })).toMatchObject({ code: 'too_many_open_orders' });
  });

  it('count free ones, for as long as a payment would be waited for', async () => {
    const ann = randomUUID();
    for (let i = 0; i < 5; i++) await order(ann, { FREE: 1 });
    expect(await refusal(ann, { FREE: 1 })).toMatchObject({ code: 'too_many_open_orders' });
    await world.rows(
      `UPDATE unpaid_orders SET free_until = now() - interval '1 second' WHERE customer_id = $1`,
      [ann],
    );
    await order(ann, { FREE: 1 });
  });
});

describe('held units', () => {
  it('are counted over all open orders of a customer', async () => {
    const ann = randomUUID();
    await order(ann, { TEA: 30, POT: 20 });
    expect(await refusal(ann, { TEA: 11 })).toMatchObject({
      code: 'too_many_units',
      fields: { maxUnits: 60, held: 50 },
    });
    await order(ann, { TEA: 10 });
    await order(randomUUID(), { TEA: 60 });
  });

  it('do not hide that there is less than somebody wants', async () => {
    const refused = await refusal(randomUUID(), { CUP: 999 });
    expect(refused).toMatchObject({ code: 'out_of_stock', fields: { sku: 'CUP' } });
  });

  it('are a share of each product at the most, ten in any case', async () => {
    const [ann, bob] = [randomUUID(), randomUUID()];
    await order(ann, { CUP: 15 });
    expect(await refusal(ann, { CUP: 6 })).toMatchObject({ fields: { sku: 'CUP', maxUnits: 20 } });
    await order(ann, { CUP: 5 });
    // Of the 80 that are left.
    expect(await refusal(bob, { CUP: 17 })).toMatchObject({ fields: { maxUnits: 16, held: 0 } });
    expect(await refusal(bob, { RARE: 11 })).toMatchObject({ fields: { maxUnits: 10 } });
    await order(bob, { RARE: 10 });
  });

  it('are counted exactly in one group', async () => {
    const ann = randomUUID();
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => order(ann, { TEA: 20 })));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  });
});

describe('orders that are not paid', () => {
  const leaveUnpaid = async (customerId: string, times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      await end([await order(customerId, { TEA: 1 })], 'payment_timeout');
    }
  };
  const secondsOf = ({ code, fields }: LastcallError): number =>
    code === 'ordering_paused' ? (fields['retryAfterSeconds'] as number) : NaN;
  const wait = (customerId: string, seconds: number) =>
    world.rows(
      `UPDATE unpaid_streaks SET last_at = last_at - $2 * interval '1 second' WHERE customer_id = $1`,
      [customerId, seconds],
    );

  it('make a customer wait after some in a row, twice as long each time, an hour at the most', async () => {
    const ann = randomUUID();
    await leaveUnpaid(ann, 3);
    for (const pauseS of [60, 120, 240]) {
      const seconds = secondsOf(await refusal(ann, { TEA: 1 }));
      expect(seconds).toBeGreaterThan(pauseS - 10);
      expect(seconds).toBeLessThanOrEqual(pauseS);
      await wait(ann, pauseS);
      await leaveUnpaid(ann, 1);
    }
    await refusal(ann, { TEA: 1 });
    await world.rows('UPDATE unpaid_streaks SET in_a_row = 4000 WHERE customer_id = $1', [ann]);
    expect(secondsOf(await refusal(ann, { TEA: 1 }))).toBeGreaterThan(3_500);
    expect(secondsOf(await refusal(ann, { TEA: 1 }))).toBeLessThanOrEqual(3_600);
  });

  it('make nobody wait longer where an order has closed later than now, by its rounding or by a clock', async () => {
    const ann = randomUUID();
    await leaveUnpaid(ann, 3);
    await refusal(ann, { TEA: 1 });
    await wait(ann, -3_600);
    expect(secondsOf(await refusal(ann, { TEA: 1 }))).toBe(60);
  });

  it('count when the customer cancels, and not when an operator closes', async () => {
    const ann = randomUUID();
    for (let i = 0; i < 3; i++) {
      await world.get(CancelOrder).cancel(await order(ann, { TEA: 1 }), ann);
    }
    expect(await refusal(ann, { TEA: 1 })).toMatchObject({ code: 'ordering_paused' });
    const bob = randomUUID();
    for (let i = 0; i < 4; i++) await end([await order(bob, { TEA: 1 })], 'operator_closed');
    await order(bob, { TEA: 1 });
  });

  it('are forgiven by one that is paid, and not by a free one', async () => {
    const [ann, bob] = [randomUUID(), randomUUID()];
    await leaveUnpaid(ann, 2);
    await end([await order(ann, { TEA: 1 })], 'paid');
    await leaveUnpaid(ann, 2);
    await order(ann, { TEA: 1 });
    await leaveUnpaid(bob, 2);
    await order(bob, { FREE: 1 });
    await world.rows(
      `UPDATE unpaid_orders SET free_until = now() - interval '1 second' WHERE customer_id = $1`,
      [bob],
    );
    await leaveUnpaid(bob, 1);
    expect(await refusal(bob, { TEA: 1 })).toMatchObject({ code: 'ordering_paused' });
  });

  it('are forgotten a day later, with what is known of customers who stay away', async () => {
    const ann = randomUUID();
    await leaveUnpaid(ann, 4 - 1);
    await refusal(ann, { TEA: 1 });
    await world.rows(`UPDATE unpaid_streaks SET last_at = now() - interval '25 hours'`);
    const bob = randomUUID();
    await leaveUnpaid(bob, 1);
    const [placed] = uuidsBetween(new Date(Date.now() - 25 * 3_600_000));
    await world.rows('UPDATE orders SET id = $2 WHERE customer_id = $1', [bob, placed]);
    await world.rows('UPDATE unpaid_orders SET order_id = $2 WHERE customer_id = $1', [
      bob,
      placed,
    ]);
    await world.get(Retention).runOnce();
    const left = 'SELECT 1 FROM unpaid_orders WHERE customer_id = $1';
    expect(await world.rows(left, [bob])).toEqual([]);
    expect(await world.rows('SELECT 1 FROM unpaid_streaks')).toEqual([]);
  });
});
