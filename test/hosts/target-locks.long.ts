import 'reflect-metadata';
import { Client } from 'pg';
import { askingKind, REFUND_KIND } from '../../libs/orders/src/targets/target-parts';
import { fromPg, type HostDeadline } from '../../libs/timeout/src/public';
import type { LedgerEntry } from '../support/ledger-provider';
import { EXPIRED, KIND, NumberedOrders, PAID } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const LONG_MS = 3_600_000;
/** More than there are connections. */
const MANY = 60;

/** What two would wait for in a circle: each has what the other needs next, until a lock's limit. */
describe('rows of close targets that somebody has', () => {
  let shop: NumberedShop;
  let other: Client;
  beforeAll(async () => {
    shop = await openNumberedShop();
  });
  afterAll(() => shop?.close());
  beforeEach(async () => {
    shop.acme.around = async () => undefined;
    shop.acme.unreachable = undefined;
    shop.failures.length = 0;
    other = new Client(shop.databaseUrl);
    await other.connect();
    await other.query('BEGIN');
  });

  /** Until `other` ends. */
  const take = (row: string, id: string) =>
    until('nobody else has it', async () => {
      const sql = `SELECT FROM lastcall.${row} = $1 FOR UPDATE SKIP LOCKED`;
      return (await other.query(sql, [id])).rowCount === 1;
    });
  const entry = (reference: string) => shop.acme.entries.get(`pay-${reference}`) as LedgerEntry;

  /**
   * Closes need a product's row from now on, which `other` has until it ends; answers with how long each of them
   * would wait for it, by one of the few connections that webhooks need as well.
   */
  async function needStock() {
    await shop.client.query('CREATE TABLE IF NOT EXISTS public.stock AS SELECT 0 AS n');
    await other.query('SELECT FROM public.stock FOR UPDATE');
    const target = shop.module.get(NumberedOrders);
    const close = target.close.bind(target);
    const waitsMs: number[] = [];
    const spy = jest.spyOn(target, 'close').mockImplementation(async (ids, reason, tx) => {
      const limit = `SELECT setting::int AS ms FROM pg_settings WHERE name = 'lock_timeout'`;
      const [row] = await tx.query<{ ms: number }>(limit);
      waitsMs.push((row as { ms: number }).ms);
      await tx.query('UPDATE stock SET n = n + 1');
      return close(ids, reason, tx);
    });
    return { waitsMs, restore: () => spy.mockRestore() };
  }
  const expectShort = (waitsMs: readonly number[]) => {
    expect(Math.min(...waitsMs)).toBeGreaterThan(0);
    expect(Math.max(...waitsMs)).toBeLessThanOrEqual(100);
  };

  /** Its order was closed, and its provider is away since it was paid; answers with the refund's id. */
  async function paidTooLate(reference: string): Promise<string> {
    shop.acme.unreachable = undefined;
    const orderId = await shop.place(0, [reference]);
    const closed = 'SELECT 1 FROM orders WHERE id = $1 AND state = $2';
    await until('it is closed', () => shop.first(closed, [orderId, EXPIRED]));
    shop.acme.unreachable = 'before';
    await shop.receive(shop.acme.pay(reference, new Date(), { late: true }));
    const refund = 'SELECT id FROM lastcall.target_refunds WHERE payment_id = $1';
    return (await until('it is to go back', () => shop.first(refund, [reference]))).id as string;
  }

  /** Due now, and its handler waits for no lock by a statement with these words. */
  async function isPutOff(due: HostDeadline, words: string): Promise<void> {
    const waiting = `SELECT query FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE $1`;
    await shop.timeouts.arm(fromPg(shop.client), due);
    await until('it is put off', async () => {
      expect(await shop.first(waiting, [`%${words}%`])).toBeUndefined();
      const armed = await shop.timeouts.get(due);
      return armed !== undefined && armed.dueAt > due.dueAt;
    });
  }

  it('are looked at again where they are refunds to be sent', async () => {
    const subjectId = await paidTooLate('p-busy');
    await take('target_refunds WHERE id', subjectId);
    await isPutOff({ kind: REFUND_KIND, subjectId, dueAt: new Date() }, 'target_refunds');
    await other.end();
    shop.acme.unreachable = undefined;
    const made = `SELECT 1 FROM lastcall.target_refunds WHERE id = $1 AND status = 'succeeded'`;
    await until('it is made', () => shop.first(made, [subjectId]));
    expect(entry('p-busy').refunds).toHaveLength(1);
  });

  it('are looked at again where they are orders that are to be asked about', async () => {
    shop.acme.unreachable = 'before';
    const orderId = await shop.place(LONG_MS, ['p-asked']);
    expect(await shop.targets.close({ kind: KIND, orderId }, 'canceled')).toBe('closing');
    await take('target_orders WHERE order_id', orderId);
    const due = { kind: askingKind(KIND), subjectId: orderId, dueAt: new Date() };
    await isPutOff(due, 'attempts = attempts + 1');
    await other.end();
    shop.acme.unreachable = undefined;
    const closed = 'SELECT 1 FROM orders WHERE id = $1 AND state = $2';
    await until('it is closed', () => shop.first(closed, [orderId, EXPIRED]));
  });

  it('are looked at again where they are orders whose payment has failed', async () => {
    shop.acme.unreachable = 'before';
    const orderId = await shop.place(LONG_MS, ['p-failed']);
    expect(await shop.targets.close({ kind: KIND, orderId }, 'canceled')).toBe('closing');
    const failed = shop.acme.failed(entry('p-failed'));
    const webhook = (where: string) =>
      shop.first(`SELECT 1 FROM lastcall.target_webhooks WHERE event_id = $1 AND ${where}`, [
        failed.headers['webhook-id'],
      ]);
    await take('target_orders WHERE order_id', orderId);
    await shop.receive(failed);
    await until('it is put off', () => webhook(`status = 'received' AND attempts > 0`));
    await other.end();
    await until('it is noted', () => webhook(`result = 'noted'`));
  });

  it('are no failure where they are orders that their provider has answered about', async () => {
    const orderId = await shop.place(LONG_MS, ['p-answered']);
    const fenced = `SELECT count(*) AS n FROM lastcall.target_orders WHERE status = 'closing'`;
    await until('no other is asked about', async () => Number((await shop.first(fenced))?.n) === 0);
    const asked = jest.fn();
    shop.acme.around = async (call, when) => {
      if (call !== 'find' || when === 'before') return;
      asked();
      if (asked.mock.calls.length > 1) return;
      await other.query('SELECT FROM public.orders WHERE id = $1 FOR UPDATE', [orderId]);
    };
    expect(await shop.targets.close({ kind: KIND, orderId }, 'canceled')).toBe('closing');
    await until('it is asked once more', () => asked.mock.calls.length > 1);
    await other.end();
    const closed = 'SELECT 1 FROM orders WHERE id = $1 AND state = $2';
    await until('it is closed', () => shop.first(closed, [orderId, EXPIRED]));
    expect(shop.failures).toEqual([]);
  });

  it("hold up no webhook where they are the shop's own, and closes need them", async () => {
    const { waitsMs, restore } = await needStock();
    const paid = Array.from({ length: 10 }, (_, n) => `p-stranger-${n}`);
    const orders: string[] = [];
    for (const reference of paid) orders.push(await shop.place(LONG_MS, [reference]));
    for (let n = 0; n < MANY; n++) await shop.place(0, [`p-needs-stock-${n}`]);
    await until('they are at it', () => waitsMs.length > paid.length);
    for (const reference of paid) await shop.receive(shop.acme.pay(reference, new Date()));
    const isPaid =
      'SELECT 1 FROM orders WHERE id = ANY ($1::int[]) AND state = $2 HAVING count(*) = $3';
    await until('all are paid', () => shop.first(isPaid, [orders, PAID, paid.length]));
    await other.end();
    restore();
    expectShort(waitsMs);
    expect(shop.failures).toEqual([]);
  });

  it("hold up no webhook where they are the shop's own, and many customers cancel that need them", async () => {
    const { waitsMs, restore } = await needStock();
    const canceled: string[] = [];
    for (let n = 0; n < MANY; n++) canceled.push(await shop.place(LONG_MS));
    await shop.place(LONG_MS, ['p-other']);
    const cancel = (orderId: string) => shop.targets.close({ kind: KIND, orderId }, 'canceled');
    const outcomes = Promise.allSettled(canceled.map(cancel));
    await until('they are at it', () => waitsMs.length > 0);
    await shop.receive(shop.acme.pay('p-other', new Date()));
    const busy = { status: 'fulfilled', value: 'busy' };
    expect(new Set((await outcomes).map((one) => JSON.stringify(one)))).toEqual(
      new Set([JSON.stringify(busy)]),
    );
    expectShort(waitsMs);
    await other.end();
    expect(await cancel(canceled[0] as string)).toBe('closed');
    restore();
  });
});
