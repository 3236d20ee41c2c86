import 'reflect-metadata';
import { types } from 'pg';
import { refundKey } from '../../libs/orders/src/providers/refund-key';
import { post } from '../support/ledger-provider';
import { EXPIRED, NumberedOrders, OPEN, PAID } from '../support/numbered-shop';
import { AMOUNT } from '../support/open-numbered-shop';
import { ownOrders } from '../support/own-orders';
import { until } from '../support/until';

const LONG_MS = 3_600_000;
const ann = { actor: 'ann', reason: 'the till took it already' };

describe('an operator of a shop with an orders table of its own', () => {
  // The shop reads instants as texts, as many do.
  const { TIMESTAMPTZ } = types.builtins;
  const before = types.getTypeParser(TIMESTAMPTZ);
  beforeAll(() => types.setTypeParser(TIMESTAMPTZ, (text) => text));
  afterAll(() => types.setTypeParser(TIMESTAMPTZ, before));

  const {
    shop,
    read,
    waitsOf,
    opened,
    place,
    cancel,
    untilState,
    send,
    pay,
    entry,
    waitOf,
    isClosing,
  } = ownOrders();

  it('holds money for an order that moved on by no doing of ours, until somebody decides', async () => {
    const { id, references: own } = await place(LONG_MS, 1);
    const [reference] = own as [string];
    await shop().client.query(`UPDATE orders SET state = ${PAID} WHERE id = $1`, [id]);
    await send(pay(reference));
    const held = await waitOf(id, 'money_on_hold');
    expect(held).toMatchObject({ subject: id, amount: 1_999, detail: 'order_moved_on' });
    // Told behind the commit, which others see before.
    await until('it is told', () => shop().alerts.length > 0);
    expect(shop().alerts).toEqual([['money_on_hold', expect.objectContaining({ orderId: id })]]);
    await shop().targets.settle(held.id, 'refund', ann);
    await until('it is sent back', () => entry(reference)?.refunds.length === 1);
    await expect(shop().targets.settle(held.id, 'keep', ann)).rejects.toMatchObject({
      code: 'not_found',
    });
    const told = `SELECT status, result FROM lastcall.target_webhooks WHERE notice ->> 'paymentId' = $1`;
    expect((await shop().client.query(told, [reference])).rows).toEqual([
      { status: 'processed', result: 'settled' },
    ]);
  });

  it('ends the wait for a provider that never answers by an operator, as closed or as paid', async () => {
    shop().acme.unreachable = 'before';
    const [unpaid, paid] = [await place(0, 1), await place(0, 2)];
    for (const { id } of [unpaid, paid]) {
      await until('it is behind the fence', () => isClosing(id));
      const wait = await waitOf(id, 'order_closing');
      expect(wait).toMatchObject({ isOverdue: false, exits: ['closed', 'paid'] });
    }
    const first = await waitOf(unpaid.id, 'order_closing');
    const second = await waitOf(paid.id, 'order_closing');
    await until('it says why', async () =>
      (await waitOf(unpaid.id, 'order_closing')).detail.endsWith(': away'),
    );
    await expect(shop().targets.settle(second.id, 'paid', ann)).rejects.toThrow(/^payment: /);
    await expect(shop().targets.settle(second.id, 'retry', ann)).rejects.toThrow('closed, paid');
    await expect(
      shop().targets.settle(second.id, 'closed', { ...ann, reason: ' ' }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
    const payment = paid.references[1] as string;
    await shop().targets.settle(first.id, 'closed', ann);
    await shop().targets.settle(second.id, 'paid', { ...ann, payment: unpaid.references.join() });
    await until('a payment of another order is refused', () =>
      shop().alerts.some(([what]) => what === 'operators_word_refused'),
    );
    expect(await read(paid.id)).toMatchObject({ state: OPEN });
    await shop().targets.settle(second.id, 'paid', { ...ann, payment });
    expect(await untilState(unpaid.id, EXPIRED)).toMatchObject({ closings: 1 });
    expect(await untilState(paid.id, PAID)).toMatchObject({ paid_by: payment, payings: 1 });
    expect(await waitsOf(unpaid.id, paid.id)).toEqual([]);
    const { rows } = await shop().client.query(
      `SELECT actor, action, reason FROM lastcall.target_actions WHERE subject = $1`,
      [first.id],
    );
    expect(rows).toEqual([{ ...ann, action: 'order_closing.closed' }]);
    shop().acme.unreachable = undefined;
    // What comes after all: of the one it is late, of the other it is what was known.
    await send(pay(unpaid.references[0] as string));
    await until('it is sent back', () => entry(unpaid.references[0] as string)?.refunds.length);
    await send(pay(payment));
    await send(pay(paid.references[0] as string));
    await until('what was paid beside it is sent back', () => {
      return entry(paid.references[0] as string)?.refunds.length === 1;
    });
    // The provider's id of what the operator meant is known by now: this is other money, for him to see.
    const known = entry(payment) as NonNullable<ReturnType<typeof entry>>;
    const again = { ...known, id: `again-${known.id}`, refunds: [] };
    shop().acme.entries.set(again.id, again);
    await send(shop().acme.succeeded(again));
    const held = await waitOf(paid.id, 'money_on_hold');
    expect(held).toMatchObject({ amount: 1_999, detail: 'reference_mismatch' });
    await shop().targets.settle(held.id, 'refund', ann);
    await until('what came twice is sent back', () => again.refunds.length === 1);
    expect(known.refunds).toEqual([]);
  });

  it('does what was said last, where somebody thinks better of it as it is done', async () => {
    shop().acme.unreachable = 'before';
    const { id, references: own } = await place(0, 1);
    await until('it is behind the fence', () => isClosing(id));
    const wait = await waitOf(id, 'order_closing');
    const numbered = shop().module.get(NumberedOrders);
    const lockOpen = numbered.lockOpen.bind(numbered);
    const told = `SELECT FROM lastcall.target_orders WHERE order_id = $1 AND told = 'closed'`;
    const locking = jest.spyOn(numbered, 'lockOpen').mockImplementation(async (ids, tx) => {
      if (ids.includes(id) && (await shop().client.query(told, [id])).rows.length === 1) {
        await shop().targets.settle(wait.id, 'paid', { ...ann, payment: own.join() });
      }
      return lockOpen(ids, tx);
    });
    try {
      await shop().targets.settle(wait.id, 'closed', ann);
      await untilState(id, PAID);
    } finally {
      locking.mockRestore();
    }
  });

  it('has a refund tried again, or done by hand, and a held webhook applied or dismissed', async () => {
    const late = await place(0, 1);
    await untilState(late.id, EXPIRED);
    const [reference] = late.references as [string];
    shop().acme.unreachable = 'before';
    await send(pay(reference, true));
    const refund = await waitOf(late.id, 'refund_unfinished');
    expect(refund).toMatchObject({ subject: late.id, isOverdue: false, exits: ['done'] });
    const giveUp = `UPDATE lastcall.target_refunds SET status = 'needs_attention', error = 'card expired', asked = 0
                     WHERE order_id = $1`;
    await shop().client.query(giveUp, [late.id]);
    const stuck = await waitOf(late.id, 'refund_in_attention');
    expect(stuck).toMatchObject({ detail: 'late_payment: card expired', isOverdue: true });
    await shop().targets.settle(stuck.id, 'retry', ann);
    await shop().client.query(giveUp, [late.id]);
    await shop().targets.settle(stuck.id, 'done', ann);
    expect(await waitsOf(late.id)).toEqual([]);
    // What it says of its own attempt from now on must not send the money once more.
    const eventId = 'failed-after-all';
    const failed = { type: 'refund.failed', paymentId: reference, amount: 1_999, why: 'closed' };
    const idempotencyKey = refundKey(stuck.id.replace('refund:', ''), 2);
    const ids = { providerPaymentId: `pay-${reference}`, providerRefundId: 're-1', idempotencyKey };
    await send(post({ eventId, ...failed, ...ids }));
    await until('that is applied', async () => {
      const applied = `SELECT FROM lastcall.target_webhooks WHERE event_id = $1 AND result = 'refund'`;
      return (await shop().client.query(applied, [eventId])).rows.length === 1;
    });
    const ended = 'SELECT status FROM lastcall.target_refunds WHERE order_id = $1';
    expect((await shop().client.query(ended, [late.id])).rows).toEqual([{ status: 'succeeded' }]);
    shop().acme.unreachable = undefined;

    const { id } = await place(LONG_MS);
    const strange = opened();
    await send(pay(strange));
    const hold = `UPDATE lastcall.target_webhooks SET status = 'held', result = 'unknown_reference'
                   WHERE status = 'received' AND notice ->> 'paymentId' = $1`;
    await shop().client.query(hold, [strange]);
    const held = await waitOf(strange, 'webhook_held');
    expect(held).toMatchObject({ subject: strange, amount: 1_999 });
    await shop().client.query(
      `INSERT INTO payments (order_id, provider, reference, amount, expires_at)
       VALUES ($1, 'acme', $2, 1999, now() + interval '1 hour')`,
      [id, strange],
    );
    await shop().targets.settle(held.id, 'replay', ann);
    await untilState(id, PAID);
    shop().acme.open({ paymentId: 'of-nobody', ...AMOUNT });
    await send(pay('of-nobody'));
    await shop().client.query(hold, ['of-nobody']);
    await shop().targets.settle((await waitOf('of-nobody', 'webhook_held')).id, 'dismiss', ann);
    expect(await waitsOf('of-nobody')).toEqual([]);
  });

  it('lists a webhook that tells of another amount than the money that has paid', async () => {
    const { id, references: own } = await place(LONG_MS, 1);
    const [reference] = own as [string];
    await send(pay(reference));
    await untilState(id, PAID);
    const money = { amount: 1_000, currency: 'EUR', paidAt: new Date() };
    const ids = { paymentId: reference, providerPaymentId: `pay-${reference}` };
    await send(post({ eventId: 'changed', type: 'payment.succeeded', ...ids, money }));
    const held = await waitOf(reference, 'webhook_held');
    expect(held).toMatchObject({ amount: 1_000, isOverdue: true });
    await shop().targets.settle(held.id, 'dismiss', ann);
    expect(await waitsOf(reference)).toEqual([]);
    expect(entry(reference)?.refunds).toEqual([]);
  });

  it('leaves no money without an exit of which less was taken than was told first', async () => {
    const { id, references: own } = await place(LONG_MS, 1);
    const [reference] = own as [string];
    const ids = { paymentId: reference, providerPaymentId: `pay-${reference}` };
    for (const amount of [1_000, 800]) {
      const money = { amount, currency: 'EUR', paidAt: new Date() };
      const notice = { type: 'payment.succeeded', ...ids, money };
      await send(post({ eventId: `taken-${amount}-${reference}`, ...notice }));
      const [subject, what] =
        amount === 800 ? ([reference, 'webhook_held'] as const) : ([id, 'money_on_hold'] as const);
      expect(await waitOf(subject, what)).toMatchObject({ amount });
    }
    shop().acme.refundRefusal = {
      state: 'FAILED',
      providerRefundId: null,
      why: 'too much',
      isForGood: true,
    };
    await shop().targets.settle((await waitOf(id, 'money_on_hold')).id, 'refund', ann);
    const refused = await waitOf(id, 'refund_in_attention');
    shop().acme.refundRefusal = undefined;
    expect(refused).toMatchObject({ amount: 1_000, exits: ['retry', 'done'] });
    // What was taken has gone back in the provider's dashboard.
    await shop().targets.settle(refused.id, 'done', ann);
    await shop().targets.settle((await waitOf(reference, 'webhook_held')).id, 'dismiss', ann);
    expect(await waitsOf(id, reference)).toEqual([]);
    expect(entry(reference)?.refunds).toEqual([]);
    await cancel(id);
  });
});
