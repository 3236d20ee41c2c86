import 'reflect-metadata';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool, type PoolClient } from 'pg';
import { fromPg, getTimeoutsToken, TimeoutModule, Timeouts } from '../../libs/timeout/src/public';
import { refundKey } from '../../libs/orders/src/providers/refund-key';
import { CloseTargetModule, CloseTargets, type TargetWait } from '../../libs/orders/src/targets';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider, post, type Posted } from '../support/ledger-provider';
import {
  EXPIRED,
  KIND,
  NUMBERED_TABLES,
  type NumberedOrder,
  NumberedOrders,
  OPEN,
  PAID,
  placeNumbered,
} from '../support/numbered-shop';
import { silentOrdersTelemetry } from '../support/silent-telemetry';
import { until } from '../support/until';

const LONG_MS = 3_600_000;
const AMOUNT = { amount: 1_999, currency: 'EUR' };

describe('a shop with an orders table of its own, whose statuses are numbers', () => {
  const acme = new LedgerProvider('acme');
  const alerts: [string, Readonly<Record<string, unknown>>][] = [];
  const failures: string[] = [];
  let database: TestDatabase;
  let pool: Pool;
  let client: PoolClient;
  let shop: TestingModule;
  let timeouts: Timeouts;
  let targets: CloseTargets;
  let references = 0;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new Pool({ connectionString: database.url, options: '-c search_path=public' });
    client = await pool.connect();
    await client.query(NUMBERED_TABLES);
    const telemetry = {
      ...silentOrdersTelemetry,
      alert: (what: string, fields: Readonly<Record<string, unknown>>) =>
        void alerts.push([what, fields]),
    };
    shop = await Test.createTestingModule({
      imports: [
        TimeoutModule.forRoot({
          postgres: { pool },
          driver: 'memory',
          sweepIntervalMs: 1_000,
          telemetry: {
            ...silentOrdersTelemetry,
            batchFailed: (_kind, _size, error) => void failures.push(String(error)),
          },
        }),
        CloseTargetModule.forRoot({ targets: [NumberedOrders], payments: [acme], telemetry }),
      ],
    }).compile();
    shop.useLogger(false);
    await shop.init();
    timeouts = shop.get<Timeouts>(getTimeoutsToken());
    targets = shop.get(CloseTargets);
  });
  afterAll(async () => {
    client?.release();
    await shop?.close();
    await pool?.end();
    await database?.drop();
  });
  beforeEach(() => {
    acme.around = async () => undefined;
    acme.unreachable = undefined;
    alerts.length = 0;
  });

  /** An order, with so many payments open at the provider. */
  const place = async (
    closesInMs: number,
    payments = 0,
  ): Promise<{ id: string; references: readonly string[] }> => {
    const own = Array.from({ length: payments }, () => `pay-of-shop-${++references}`);
    const id = await placeNumbered(client, timeouts, { closesInMs, references: own });
    for (const paymentId of own) acme.open({ paymentId, ...AMOUNT });
    return { id, references: own };
  };
  const makeDue = async (...ids: string[]): Promise<unknown> => {
    const dueAt = new Date();
    const due = ids.map((subjectId) => ({ kind: KIND, subjectId, dueAt }));
    return timeouts.arm(fromPg(client), due);
  };
  /** By hand; a close that meets the provider's answer at the row is told so, and asked for again. */
  const cancel = (orderId: string) =>
    until('nobody else has the row', async () => {
      const outcome = await targets.close({ kind: KIND, orderId }, 'canceled');
      return outcome === 'busy' ? undefined : outcome;
    });
  const read = async (id: string): Promise<NumberedOrder> => {
    const { rows } = await client.query<NumberedOrder>('SELECT * FROM orders WHERE id = $1', [id]);
    return rows[0] as NumberedOrder;
  };
  const untilState = (id: string, state: number): Promise<NumberedOrder> =>
    until(`order ${id} is ${state}`, async () => {
      const order = await read(id);
      return order.state === state ? order : undefined;
    });
  const send = ({ body, headers }: Posted): Promise<void> => targets.receive('acme', body, headers);
  const pay = (reference: string, late = false): Posted =>
    acme.pay(reference, new Date(), { late }) as Posted;
  const entry = (reference: string) => acme.entries.get(`pay-${reference}`);
  const ann = { actor: 'ann', reason: 'the till took it already' };
  const waitsOf = async (...subjects: string[]): Promise<TargetWait[]> =>
    (await targets.waiting()).filter(({ subject }) => subjects.includes(subject ?? ''));
  const waitOf = (id: string, wanted: TargetWait['what']): Promise<TargetWait> =>
    until(`${wanted} of ${id} waits`, async () => {
      return (await waitsOf(id)).find(({ what }) => what === wanted);
    });
  const isClosing = (orderId: string) => targets.isClosing(fromPg(client), { kind: KIND, orderId });

  it('closes what nobody pays for, and leaves alone what has moved on', async () => {
    const [paid, first, second] = [await place(LONG_MS), await place(400), await place(400)];
    await client.query(`UPDATE orders SET state = ${PAID} WHERE id = $1`, [paid.id]);
    await makeDue(paid.id);
    for (const { id } of [first, second]) {
      expect(await untilState(id, EXPIRED)).toMatchObject({
        reason: 'payment_timeout',
        closings: 1,
      });
    }
    await until('its deadline is gone', async () => {
      return (await timeouts.get({ kind: KIND, subjectId: paid.id })) === undefined;
    });
    expect(await read(paid.id)).toMatchObject({ state: PAID, closings: 0 });
  });

  it('asks the provider first: ends what is open there, and only then closes', async () => {
    acme.unreachable = 'before';
    const order = await place(0, 2);
    await until('it is behind the fence', () => isClosing(order.id));
    expect(await read(order.id)).toMatchObject({ state: OPEN });
    expect(await cancel(order.id)).toBe('closing');
    acme.unreachable = undefined;
    await untilState(order.id, EXPIRED);
    expect(order.references.map((one) => entry(one)?.status)).toEqual(['closed', 'closed']);
    expect(await isClosing(order.id)).toBe(false);
    const asking = { kind: `${KIND}.closing`, subjectId: order.id };
    await until('nobody is asked any more', async () => !(await timeouts.get(asking)));
  });

  it('is paid where the provider says so at the deadline, and no webhook has come', async () => {
    const { id, references: own } = await place(LONG_MS, 2);
    const [first, second] = own as [string, string];
    pay(first);
    expect(await targets.close({ kind: KIND, orderId: id }, 'canceled')).toBe('closing');
    expect(await untilState(id, PAID)).toMatchObject({ paid_by: first, closings: 0 });
    await until('the other is ended', () => entry(second)?.status === 'closed');
  });

  it('is paid once by fifty webhooks, and ends the payment that is not needed', async () => {
    const { id, references: own } = await place(LONG_MS, 2);
    const [first, second] = own as [string, string];
    const posted = pay(first);
    const paid = entry(first) as NonNullable<ReturnType<typeof entry>>;
    const others = Array.from({ length: 49 }, () => acme.succeeded(paid));
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
      await Promise.all([send(posted), send(acme.succeeded(money))]);
      await until('it is sent back', () => money.refunds.length > 0);
    }
    const refunds = `SELECT reason, status, order_id FROM lastcall.target_refunds ORDER BY created_at`;
    const settled = await until('both are settled', async () => {
      const { rows } = await client.query<{ status: string }>(refunds);
      return rows.every(({ status }) => status === 'succeeded') ? rows : undefined;
    });
    expect(settled).toEqual([
      { reason: 'late_payment', status: 'succeeded', order_id: late.id },
      { reason: 'duplicate_payment', status: 'succeeded', order_id: twice.id },
    ]);
    expect([lately, other].map((one) => entry(one)?.refunds.length)).toEqual([1, 1]);
    expect(await read(late.id)).toMatchObject({ state: EXPIRED, payings: 0 });
  });

  it('holds money for an order that moved on by no doing of ours, until somebody decides', async () => {
    const { id, references: own } = await place(LONG_MS, 1);
    const [reference] = own as [string];
    await client.query(`UPDATE orders SET state = ${PAID} WHERE id = $1`, [id]);
    await send(pay(reference));
    const held = await waitOf(id, 'money_on_hold');
    expect(held).toMatchObject({ subject: id, amount: 1_999, detail: 'order_moved_on' });
    // Told behind the commit, which others see before.
    await until('it is told', () => alerts.length > 0);
    expect(alerts).toEqual([['money_on_hold', expect.objectContaining({ orderId: id })]]);
    await targets.settle(held.id, 'refund', ann);
    await until('it is sent back', () => entry(reference)?.refunds.length === 1);
    await expect(targets.settle(held.id, 'keep', ann)).rejects.toMatchObject({ code: 'not_found' });
    const told = `SELECT status, result FROM lastcall.target_webhooks WHERE notice ->> 'paymentId' = $1`;
    expect((await client.query(told, [reference])).rows).toEqual([
      { status: 'processed', result: 'settled' },
    ]);
  });

  it('ends the wait for a provider that never answers by an operator, as closed or as paid', async () => {
    acme.unreachable = 'before';
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
    await expect(targets.settle(second.id, 'paid', ann)).rejects.toThrow(/^payment: /);
    await expect(targets.settle(second.id, 'retry', ann)).rejects.toThrow('closed, paid');
    await expect(
      targets.settle(second.id, 'closed', { ...ann, reason: ' ' }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
    const payment = paid.references[1] as string;
    await targets.settle(first.id, 'closed', ann);
    await targets.settle(second.id, 'paid', { ...ann, payment: unpaid.references.join() });
    await until('a payment of another order is refused', () =>
      alerts.some(([what]) => what === 'operators_word_refused'),
    );
    expect(await read(paid.id)).toMatchObject({ state: OPEN });
    await targets.settle(second.id, 'paid', { ...ann, payment });
    expect(await untilState(unpaid.id, EXPIRED)).toMatchObject({ closings: 1 });
    expect(await untilState(paid.id, PAID)).toMatchObject({ paid_by: payment, payings: 1 });
    expect(await waitsOf(unpaid.id, paid.id)).toEqual([]);
    const { rows } = await client.query(
      `SELECT actor, action, reason FROM lastcall.target_actions WHERE subject = $1`,
      [first.id],
    );
    expect(rows).toEqual([{ ...ann, action: 'order_closing.closed' }]);
    acme.unreachable = undefined;
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
    acme.entries.set(again.id, again);
    await send(acme.succeeded(again));
    const held = await waitOf(paid.id, 'money_on_hold');
    expect(held).toMatchObject({ amount: 1_999, detail: 'reference_mismatch' });
    await targets.settle(held.id, 'refund', ann);
    await until('what came twice is sent back', () => again.refunds.length === 1);
    expect(known.refunds).toEqual([]);
  });

  it('does what was said last, where somebody thinks better of it as it is done', async () => {
    acme.unreachable = 'before';
    const { id, references: own } = await place(0, 1);
    await until('it is behind the fence', () => isClosing(id));
    const wait = await waitOf(id, 'order_closing');
    const numbered = shop.get(NumberedOrders);
    const lockOpen = numbered.lockOpen.bind(numbered);
    const told = `SELECT FROM lastcall.target_orders WHERE order_id = $1 AND told = 'closed'`;
    const locking = jest.spyOn(numbered, 'lockOpen').mockImplementation(async (ids, tx) => {
      if (ids.includes(id) && (await pool.query(told, [id])).rows.length === 1) {
        await targets.settle(wait.id, 'paid', { ...ann, payment: own.join() });
      }
      return lockOpen(ids, tx);
    });
    try {
      await targets.settle(wait.id, 'closed', ann);
      await untilState(id, PAID);
    } finally {
      locking.mockRestore();
    }
  });

  it('has a refund tried again, or done by hand, and a held webhook applied or dismissed', async () => {
    const late = await place(0, 1);
    await untilState(late.id, EXPIRED);
    const [reference] = late.references as [string];
    acme.unreachable = 'before';
    await send(pay(reference, true));
    const refund = await waitOf(late.id, 'refund_unfinished');
    expect(refund).toMatchObject({ subject: late.id, isOverdue: false, exits: ['done'] });
    const giveUp = `UPDATE lastcall.target_refunds SET status = 'needs_attention', error = 'card expired', asked = 0
                     WHERE order_id = $1`;
    await client.query(giveUp, [late.id]);
    const stuck = await waitOf(late.id, 'refund_in_attention');
    expect(stuck).toMatchObject({ detail: 'late_payment: card expired', isOverdue: true });
    await targets.settle(stuck.id, 'retry', ann);
    await client.query(giveUp, [late.id]);
    await targets.settle(stuck.id, 'done', ann);
    expect(await waitsOf(late.id)).toEqual([]);
    // What it says of its own attempt from now on must not send the money once more.
    const eventId = 'failed-after-all';
    const failed = { type: 'refund.failed', paymentId: reference, amount: 1_999, why: 'closed' };
    const idempotencyKey = refundKey(stuck.id.replace('refund:', ''), 2);
    const ids = { providerPaymentId: `pay-${reference}`, providerRefundId: 're-1', idempotencyKey };
    await send(post({ eventId, ...failed, ...ids }));
    await until('that is applied', async () => {
      const applied = `SELECT FROM lastcall.target_webhooks WHERE event_id = $1 AND result = 'refund'`;
      return (await client.query(applied, [eventId])).rows.length === 1;
    });
    const ended = 'SELECT status FROM lastcall.target_refunds WHERE order_id = $1';
    expect((await client.query(ended, [late.id])).rows).toEqual([{ status: 'succeeded' }]);
    acme.unreachable = undefined;

    const { id } = await place(LONG_MS);
    const strange = `pay-of-shop-${++references}`;
    acme.open({ paymentId: strange, ...AMOUNT });
    await send(pay(strange));
    const hold = `UPDATE lastcall.target_webhooks SET status = 'held', result = 'unknown_reference'
                   WHERE status = 'received' AND notice ->> 'paymentId' = $1`;
    await client.query(hold, [strange]);
    const held = await waitOf(strange, 'webhook_held');
    expect(held).toMatchObject({ subject: strange, amount: 1_999 });
    await client.query(
      `INSERT INTO payments (order_id, provider, reference, amount, expires_at)
       VALUES ($1, 'acme', $2, 1999, now() + interval '1 hour')`,
      [id, strange],
    );
    await targets.settle(held.id, 'replay', ann);
    await untilState(id, PAID);
    acme.open({ paymentId: 'of-nobody', ...AMOUNT });
    await send(pay('of-nobody'));
    await client.query(hold, ['of-nobody']);
    await targets.settle((await waitOf('of-nobody', 'webhook_held')).id, 'dismiss', ann);
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
    await targets.settle(held.id, 'dismiss', ann);
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
    acme.refundRefusal = {
      state: 'FAILED',
      providerRefundId: null,
      why: 'too much',
      isForGood: true,
    };
    await targets.settle((await waitOf(id, 'money_on_hold')).id, 'refund', ann);
    const refused = await waitOf(id, 'refund_in_attention');
    acme.refundRefusal = undefined;
    expect(refused).toMatchObject({ amount: 1_000, exits: ['retry', 'done'] });
    // What was taken has gone back in the provider's dashboard.
    await targets.settle(refused.id, 'done', ann);
    await targets.settle((await waitOf(reference, 'webhook_held')).id, 'dismiss', ann);
    expect(await waitsOf(id, reference)).toEqual([]);
    expect(entry(reference)?.refunds).toEqual([]);
    await cancel(id);
  });

  it('pays by a webhook that was faster than the transaction that writes its payment', async () => {
    const { id } = await place(LONG_MS);
    const reference = `pay-of-shop-${++references}`;
    acme.open({ paymentId: reference, ...AMOUNT });
    await send(pay(reference));
    const tried = 'SELECT 1 FROM lastcall.target_webhooks WHERE attempts > 0 AND status = $1';
    await until('it was looked for', async () => {
      return ((await client.query(tried, ['received'])).rowCount ?? 0) > 0;
    });
    await client.query(
      `INSERT INTO payments (order_id, provider, reference, amount, expires_at)
       VALUES ($1, 'acme', $2, 1999, now() + interval '1 hour')`,
      [id, reference],
    );
    expect(await untilState(id, PAID)).toMatchObject({ paid_by: reference });
  });

  it('closes strangers while somebody holds an order, and that one after him', async () => {
    const [held, free] = [await place(LONG_MS), await place(LONG_MS)];
    const other = await pool.connect();
    try {
      await other.query('BEGIN');
      await other.query('SELECT 1 FROM orders WHERE id = $1 FOR UPDATE', [held.id]);
      expect(await targets.close({ kind: KIND, orderId: held.id }, 'canceled')).toBe('busy');
      await makeDue(held.id, free.id);
      await untilState(free.id, EXPIRED);
      expect(await read(held.id)).toMatchObject({ state: OPEN });
      await other.query('COMMIT');
    } finally {
      other.release();
    }
    await untilState(held.id, EXPIRED);
  });

  it('undoes what the shop has done by half, and says what is wrong', async () => {
    const orders = shop.get(NumberedOrders);
    const { id } = await place(LONG_MS);
    orders.forgets = id;
    const closing = targets.close({ kind: KIND, orderId: id }, 'canceled');
    await expect(closing).rejects.toThrow(`close left out order ${id}`);
    orders.forgets = undefined;
    expect(await targets.close({ kind: KIND, orderId: id }, 'canceled')).toBe('closed');
    expect(await targets.close({ kind: KIND, orderId: id }, 'canceled')).toBe('moved_on');
    expect(() => targets.isClosing(fromPg(client), { kind: 'other', orderId: id })).toThrow(
      'No close target of kind "other"; there are: order-close',
    );
    expect(failures).toEqual([]);
  });
});
