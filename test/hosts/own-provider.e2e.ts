import 'reflect-metadata';
import {
  hostOptionsAsConfig,
  type HooksOrders,
  type HookTx,
  type OrderDraft,
  migrate,
  OrderHook,
  OrdersModule,
  type OrdersHostOptions,
  type OrderTransition,
  type Refusal,
  type Shortage,
  type StockLine,
  type StockPort,
  PlaceOrder,
  ReadOrder,
  type RelayedEvent,
  seedProducts,
  StartPayment,
  DATABASE,
} from '@app/orders';
import { Inject, Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { DataSource } from 'typeorm';
import { SET_UP } from '../../libs/orders/src/set-up';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';
import { until } from '../support/until';

/** What the shop knows of the world, by its own means. */
@Injectable()
class ShopSettings {
  // Over when a test says so, however busy this machine is.
  readonly windows = { pay: '10m', grace: '100ms', ship: 'off' };
}

@Module({ providers: [ShopSettings], exports: [ShopSettings] })
class SettingsModule {}

/** Releases an order's coupon when it closes, in the transaction that closes it. */
@OrderHook()
class Coupons implements HooksOrders {
  readonly heard: OrderTransition[] = [];
  readonly asked: (readonly OrderDraft[])[] = [];
  breaksDown = false;

  /** Who is on the list gets nothing: it is read where the orders are about to be written. */
  async beforePlace(drafts: readonly OrderDraft[], tx: HookTx): Promise<Refusal[]> {
    tx.afterCommit(() => void this.asked.push(drafts));
    const customers = drafts.map(({ customerId }) => customerId);
    const sql = 'SELECT customer FROM unwanted WHERE customer = ANY ($1)';
    const rows = await tx.query<{ customer: string }>(sql, [customers]);
    const unwanted = new Set(rows.map(({ customer }) => customer));
    return drafts
      .filter(({ customerId }) => unwanted.has(customerId))
      .map(({ orderId, customerId: customer }) => ({
        ...{ orderId, message: 'This shop does not serve you', fields: { customer } },
      }));
  }

  async onTransition(change: OrderTransition, tx: HookTx): Promise<void> {
    tx.afterCommit(() => void this.heard.push(change));
    if (change.to !== 'closed') return;
    await tx.query(
      `UPDATE coupons SET order_id = NULL, released = released + 1 WHERE order_id = ANY ($1)`,
      [change.orderIds],
    );
    if (this.breaksDown) throw new Error('the coupons have a bug');
  }
}

/** What is on the shelf, by the shop's own table. */
const shelf: StockPort = {
  async reserve(lines, tx) {
    const wanted = new Map<string, StockLine[]>();
    for (const line of lines) wanted.set(line.orderId, [...(wanted.get(line.orderId) ?? []), line]);
    const left = await tx.query<{ sku: string; pieces: number }>(
      'SELECT sku, pieces FROM shelf WHERE sku = ANY ($1) ORDER BY sku FOR UPDATE',
      [lines.map(({ sku }) => sku)],
    );
    const pieces = new Map(left.map((row) => [row.sku, row.pieces]));
    const shortages: Shortage[] = [];
    for (const [orderId, own] of wanted) {
      const short = own.find(({ sku, quantity }) => (pieces.get(sku) ?? 0) < quantity);
      if (short) {
        shortages.push({ orderId, sku: short.sku, available: pieces.get(short.sku) ?? 0 });
        continue;
      }
      for (const { sku, quantity } of own) pieces.set(sku, (pieces.get(sku) ?? 0) - quantity);
    }
    await tx.query(
      'UPDATE shelf SET pieces = n FROM unnest($1::text[], $2::int[]) AS s (name, n) WHERE sku = name',
      [[...pieces.keys()], [...pieces.values()]],
    );
    return shortages;
  },
  async apply(effect, orderIds, tx) {
    await tx.query(
      'INSERT INTO shelf_log (effect, order_id) SELECT $1, id FROM unnest($2::uuid[]) AS o (id)',
      [effect, orderIds],
    );
  },
};

@Injectable()
class Thief {
  constructor(@Inject(SET_UP) readonly setUp: unknown) {}
}

describe('a shop with its own provider and its own place for events, and without Redis', () => {
  const acme = new LedgerProvider('acme');
  const events: RelayedEvent[] = [];
  let database: TestDatabase;
  let host: TestingModule;

  const optionsFor = (settings: ShopSettings): OrdersHostOptions => ({
    postgres: { url: database.url },
    schema: 'shop_orders',
    payments: [acme],
    windows: settings.windows,
    settings: { SWEEP_INTERVAL: '1s' },
    events: { append: async (those) => void events.push(...those) },
    stock: shelf,
  });
  const orders = () =>
    OrdersModule.forRootAsync({
      imports: [SettingsModule],
      inject: [ShopSettings],
      useFactory: (settings) => optionsFor(settings),
    });

  beforeAll(async () => {
    database = await createTestDatabase();
    await migrate(hostOptionsAsConfig(optionsFor(new ShopSettings())));
    host = await Test.createTestingModule({ imports: [orders()], providers: [Coupons] }).compile();
    host.useLogger(false);
    await host.init();
    const dataSource = host.get<DataSource>(DATABASE);
    await seedProducts(dataSource);
    await dataSource.query(`
      CREATE TABLE public.coupons (code text PRIMARY KEY, order_id uuid, released int DEFAULT 0);
      CREATE TABLE public.unwanted (customer text PRIMARY KEY);
      CREATE TABLE public.shelf (sku text PRIMARY KEY, pieces int NOT NULL);
      INSERT INTO public.shelf VALUES ('TEA-SENCHA', 100);
      CREATE TABLE public.shelf_log (effect text, order_id uuid, UNIQUE (effect, order_id))`);
  });
  afterAll(async () => {
    await host?.close();
    await database?.drop();
  });

  const passDeadline = (orderId: string): Promise<unknown> =>
    host.get<DataSource>(DATABASE).query(
      `WITH o AS (UPDATE orders SET pay_by = now(), closes_at = now() WHERE id = $1),
            p AS (UPDATE payments SET expires_at = now() WHERE order_id = $1)
       UPDATE deadlines SET due_at = now() WHERE kind = 'payment' AND subject_id = $1`,
      [orderId],
    );

  it('takes payments there, closes when the time is over, and tells its own sink', async () => {
    const items = [{ sku: 'TEA-SENCHA', quantity: 1 }];
    const { order } = await host
      .get(PlaceOrder)
      .place({ customerId: 'ann', idempotencyKey: 'first', items });
    const { payment } = await host
      .get(StartPayment)
      .start({ orderId: order.id, customerId: 'ann' });
    expect(payment).toMatchObject({ provider: 'acme', status: 'open' });
    await passDeadline(order.id);
    const statusOf = async () => (await host.get(ReadOrder).read(order.id, 'ann')).status;
    await until('it is closed', async () => (await statusOf()) === 'closed');
    await until('its end is told', () => events.some(({ to }) => to === 'closed'));
    expect(events.map(({ to }) => to)).toEqual(['pending_payment', 'closing', 'closed']);
  });

  it('releases a coupon once, in the transaction that closes its order', async () => {
    const coupons = host.get(Coupons);
    coupons.breaksDown = true;
    const items = [{ sku: 'TEA-SENCHA', quantity: 1 }];
    const { order } = await host
      .get(PlaceOrder)
      .place({ customerId: 'bob', idempotencyKey: 'second', items });
    const sql = (text: string): Promise<unknown> => host.get<DataSource>(DATABASE).query(text);
    await sql(`INSERT INTO public.coupons (code, order_id) VALUES ('TEN', '${order.id}')`);
    await passDeadline(order.id);
    const failures = `SELECT 1 FROM deadlines WHERE subject_id = '${order.id}' AND failures > 0`;
    await until('closing has failed', async () => ((await sql(failures)) as []).length > 0);
    expect(await sql('SELECT released FROM public.coupons')).toEqual([{ released: 0 }]);
    coupons.breaksDown = false;
    const statusOf = async () => (await host.get(ReadOrder).read(order.id, 'bob')).status;
    await until('it is closed', async () => (await statusOf()) === 'closed');
    expect(await sql('SELECT order_id, released FROM public.coupons')).toEqual([
      { order_id: null, released: 1 },
    ]);
    const heard = () => coupons.heard.filter(({ orderIds }) => orderIds.includes(order.id));
    // Behind the commit, which others see before.
    await until('both are heard', () => heard().length > 1);
    expect(heard().map(({ from, to, reason }) => [from, to, reason])).toEqual([
      ['none', 'pending_payment', null],
      ['pending_payment', 'closed', 'payment_timeout'],
    ]);
  });

  it('places the neighbours of what hooks refuse and of what the shelf is short of', async () => {
    const dataSource = host.get<DataSource>(DATABASE);
    await dataSource.query(`
      INSERT INTO public.unwanted VALUES ('mallory') ON CONFLICT DO NOTHING;
      UPDATE public.shelf SET pieces = 3`);
    const coupons = host.get(Coupons);
    coupons.asked.length = 0;
    const place = (customerId: string, quantity: number) =>
      host.get(PlaceOrder).place({
        ...{ customerId, idempotencyKey: 'together' },
        items: [{ sku: 'TEA-SENCHA', quantity }],
      });
    // Asked for at the same moment: one group.
    const [carl, ...together] = await Promise.allSettled([
      place('carl', 1),
      place('mallory', 1),
      place('dora', 5),
      place('erik', 2),
    ]);
    const [mallory, dora, erik] = together;
    expect([carl.status, erik?.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(mallory).toMatchObject({
      reason: {
        code: 'order_refused',
        message: 'This shop does not serve you',
        fields: { customer: 'mallory' },
      },
    });
    expect(dora).toMatchObject({ reason: { code: 'out_of_stock', fields: { sku: 'TEA-SENCHA' } } });
    const asked = coupons.asked.map((drafts) => drafts.map(({ customerId }) => customerId));
    expect(asked).toEqual([['carl', 'mallory', 'dora', 'erik']]);
    const rows = (sql: string): Promise<unknown> => dataSource.query(sql);
    expect(await rows('SELECT pieces FROM public.shelf')).toEqual([{ pieces: 0 }]);
    expect(await rows(`SELECT 1 FROM orders WHERE customer_id IN ('mallory', 'dora')`)).toEqual([]);
    const { order } = (carl as PromiseFulfilledResult<{ order: { id: string } }>).value;
    const log = `SELECT effect FROM public.shelf_log WHERE order_id = '${order.id}'`;
    await passDeadline(order.id);
    // A second release would break the table's own constraint, and undo the close.
    await until('it is released', async () => ((await rows(log)) as []).length > 0);
    expect(await rows(log)).toEqual([{ effect: 'release' }]);
    expect((await host.get(ReadOrder).read(order.id, 'carl')).status).toBe('closed');
  });

  it('places nothing of an order that is refused alone', async () => {
    const dataSource = host.get<DataSource>(DATABASE);
    await dataSource.query(`INSERT INTO public.unwanted VALUES ('mallory') ON CONFLICT DO NOTHING`);
    const placing = host.get(PlaceOrder).place({
      ...{ customerId: 'mallory', idempotencyKey: 'alone' },
      items: [{ sku: 'TEA-SENCHA', quantity: 1 }],
    });
    await expect(placing).rejects.toMatchObject({ code: 'order_refused' });
    const placed = `SELECT FROM orders WHERE customer_id = 'mallory'`;
    expect(await dataSource.query(placed)).toEqual([]);
  });

  it('keeps what it was made from, secrets and all, to its own factories', async () => {
    const module = Test.createTestingModule({ imports: [orders()], providers: [Thief] });
    await expect(module.setLogger(false as never).compile()).rejects.toThrow(/can't resolve/);
  });

  it('names a setting that is wrong', () => {
    const wrong = { ...optionsFor(new ShopSettings()), windows: { pay: 'soon' } };
    expect(() => hostOptionsAsConfig(wrong)).toThrow('PAYMENT_WINDOW must be a duration');
  });

  it('does not compile with a factory of the wrong types', () => {
    const module = OrdersModule.forRootAsync({
      inject: [ShopSettings],
      // @ts-expect-error -- ShopSettings is no number
      useFactory: (settings: number) => optionsFor(settings as never),
    });
    expect(module.module).toBe(OrdersModule);
  });
});
