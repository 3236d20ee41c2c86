import 'reflect-metadata';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool, type PoolClient } from 'pg';
import { fromPg, getTimeoutsToken, TimeoutModule, Timeouts } from '../../libs/timeout/src/public';
import { CloseTargetModule, CloseTargets } from '../../libs/orders/src/targets';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider, type Posted } from '../support/ledger-provider';
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
    const [held] = await until('it is held', async () => {
      const all = await targets.listHeld();
      return all.length > 0 ? all : undefined;
    });
    expect(held).toMatchObject({ orderId: id, paymentId: reference, reason: 'order_moved_on' });
    expect(alerts).toEqual([['money_on_hold', expect.objectContaining({ orderId: id })]]);
    const by = { actor: 'ann', reason: 'the till took it already' };
    const ref = held as NonNullable<typeof held>;
    await targets.settleHeld(ref, 'refund', by);
    await until('it is sent back', () => entry(reference)?.refunds.length === 1);
    await expect(targets.settleHeld(ref, 'keep', by)).rejects.toMatchObject({
      code: 'payment_not_found',
    });
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
