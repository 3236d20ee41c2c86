import 'reflect-metadata';
import { Client } from 'pg';
import { fromPg } from '../../libs/timeout/src/public';
import { EXPIRED, KIND, NumberedOrders, OPEN, PAID } from '../support/numbered-shop';
import { ownOrders } from '../support/own-orders';
import { until } from '../support/until';

const LONG_MS = 3_600_000;

describe('a shop with an orders table of its own, whose statuses are numbers', () => {
  const {
    shop,
    failures,
    read,
    opened,
    place,
    makeDue,
    cancel,
    untilState,
    send,
    pay,
    entry,
    isClosing,
  } = ownOrders();

  it('closes what nobody pays for, and leaves alone what has moved on', async () => {
    const [paid, first, second] = [await place(LONG_MS), await place(400), await place(400)];
    await shop().client.query(`UPDATE orders SET state = ${PAID} WHERE id = $1`, [paid.id]);
    await makeDue(paid.id);
    for (const { id } of [first, second]) {
      expect(await untilState(id, EXPIRED)).toMatchObject({
        reason: 'payment_timeout',
        closings: 1,
      });
    }
    await until('its deadline is gone', async () => {
      return (await shop().timeouts.get({ kind: KIND, subjectId: paid.id })) === undefined;
    });
    expect(await read(paid.id)).toMatchObject({ state: PAID, closings: 0 });
  });

  it('asks the provider first: ends what is open there, and only then closes', async () => {
    shop().acme.unreachable = 'before';
    const order = await place(0, 2);
    await until('it is behind the fence', () => isClosing(order.id));
    expect(await read(order.id)).toMatchObject({ state: OPEN });
    expect(await cancel(order.id)).toBe('closing');
    shop().acme.unreachable = undefined;
    await untilState(order.id, EXPIRED);
    expect(order.references.map((one) => entry(one)?.status)).toEqual(['closed', 'closed']);
    expect(await isClosing(order.id)).toBe(false);
    const asking = { kind: `${KIND}.closing`, subjectId: order.id };
    await until('nobody is asked any more', async () => !(await shop().timeouts.get(asking)));
  });

  it('is paid where the provider says so at the deadline, and no webhook has come', async () => {
    const { id, references: own } = await place(LONG_MS, 2);
    const [first, second] = own as [string, string];
    pay(first);
    expect(await shop().targets.close({ kind: KIND, orderId: id }, 'canceled')).toBe('closing');
    expect(await untilState(id, PAID)).toMatchObject({ paid_by: first, closings: 0 });
    await until('the other is ended', () => entry(second)?.status === 'closed');
  });

  it('is paid like others whose webhooks come at the same time', async () => {
    const orders = await Promise.all(Array.from({ length: 10 }, () => place(LONG_MS, 1)));
    await Promise.all(orders.map(({ references: [own] }) => send(pay(own as string))));
    for (const { id, references } of orders) {
      expect(await untilState(id, PAID)).toMatchObject({ paid_by: references[0], payings: 1 });
    }
  });

  it('is asked about by itself: one that is paid, and done with, is not', async () => {
    const paid = await place(LONG_MS, 1);
    await send(pay(paid.references[0] as string));
    await untilState(paid.id, PAID);
    const other = await place(LONG_MS, 1);
    expect(await cancel(other.id)).toBe('closing');
    await untilState(other.id, EXPIRED);
    const asking = { kind: `${KIND}.closing`, subjectId: paid.id };
    expect(await shop().timeouts.get(asking)).toBeUndefined();
    const asked = 'SELECT attempts FROM lastcall.target_orders WHERE order_id = $1';
    expect(await shop().first(asked, [paid.id])).toEqual({ attempts: 0 });
  });

  it('is paid once by fifty webhooks, and ends the payment that is not needed', async () => {
    const { id, references: own } = await place(LONG_MS, 2);
    const [first, second] = own as [string, string];
    const posted = pay(first);
    const paid = entry(first) as NonNullable<ReturnType<typeof entry>>;
    const others = Array.from({ length: 49 }, () => shop().acme.succeeded(paid));
    await Promise.all([posted, ...others].map(send));
    expect(await untilState(id, PAID)).toMatchObject({ paid_by: first, payings: 1 });
    await until('the other is ended', () => entry(second)?.status === 'closed');
    expect(paid.refunds).toEqual([]);
  });

  it('sends late money back once, and money that comes twice', async () => {
    const late = await place(0, 1);
    await untilState(late.id, EXPIRED);
    const twice = await place(LONG_MS, 2);
    const [mine, other] = twice.references as [string, string];
    await send(pay(mine));
    await untilState(twice.id, PAID);
    const [lately] = late.references as [string];
    for (const reference of [lately, other]) {
      const posted = pay(reference, true);
      const money = entry(reference) as NonNullable<ReturnType<typeof entry>>;
      await Promise.all([send(posted), send(shop().acme.succeeded(money))]);
      await until('it is sent back', () => money.refunds.length > 0);
    }
    const refunds = `SELECT reason, status, order_id FROM lastcall.target_refunds ORDER BY created_at`;
    const settled = await until('both are settled', async () => {
      const { rows } = await shop().client.query<{ status: string }>(refunds);
      return rows.every(({ status }) => status === 'succeeded') ? rows : undefined;
    });
    expect(settled).toEqual([
      { reason: 'late_payment', status: 'succeeded', order_id: late.id },
      { reason: 'duplicate_payment', status: 'succeeded', order_id: twice.id },
    ]);
    expect([lately, other].map((one) => entry(one)?.refunds.length)).toEqual([1, 1]);
    expect(await read(late.id)).toMatchObject({ state: EXPIRED, payings: 0 });
  });

  it('pays by a webhook that was faster than the transaction that writes its payment', async () => {
    const { id } = await place(LONG_MS);
    const reference = opened();
    await send(pay(reference));
    const tried = 'SELECT 1 FROM lastcall.target_webhooks WHERE attempts > 0 AND status = $1';
    await until('it was looked for', async () => {
      return ((await shop().client.query(tried, ['received'])).rowCount ?? 0) > 0;
    });
    await shop().client.query(
      `INSERT INTO payments (order_id, provider, reference, amount, expires_at)
       VALUES ($1, 'acme', $2, 1999, now() + interval '1 hour')`,
      [id, reference],
    );
    expect(await untilState(id, PAID)).toMatchObject({ paid_by: reference });
  });

  it('closes strangers while somebody holds an order, and that one after him', async () => {
    const [held, free] = [await place(LONG_MS), await place(LONG_MS)];
    const other = new Client({
      connectionString: shop().databaseUrl,
      options: '-c search_path=public',
    });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query('SELECT 1 FROM orders WHERE id = $1 FOR UPDATE', [held.id]);
      expect(await shop().targets.close({ kind: KIND, orderId: held.id }, 'canceled')).toBe('busy');
      await makeDue(held.id, free.id);
      await untilState(free.id, EXPIRED);
      expect(await read(held.id)).toMatchObject({ state: OPEN });
      await other.query('COMMIT');
    } finally {
      await other.end();
    }
    await untilState(held.id, EXPIRED);
  });

  it('undoes what the shop has done by half, and says what is wrong', async () => {
    const orders = shop().module.get(NumberedOrders);
    const { id } = await place(LONG_MS);
    orders.forgets = id;
    const closing = shop().targets.close({ kind: KIND, orderId: id }, 'canceled');
    await expect(closing).rejects.toThrow(`close left out order ${id}`);
    orders.forgets = undefined;
    expect(await shop().targets.close({ kind: KIND, orderId: id }, 'canceled')).toBe('closed');
    expect(await shop().targets.close({ kind: KIND, orderId: id }, 'canceled')).toBe('moved_on');
    expect(() =>
      shop().targets.isClosing(fromPg(shop().client), { kind: 'other', orderId: id }),
    ).toThrow('No close target of kind "other"; there are: order-close');
    expect(failures).toEqual([]);
  });
});
