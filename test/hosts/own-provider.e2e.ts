import 'reflect-metadata';
import {
  hostOptionsAsConfig,
  type HooksOrders,
  type HookTx,
  migrate,
  OrderHook,
  OrdersModule,
  type OrdersHostOptions,
  type OrderTransition,
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
  // Long enough to place and to begin to pay on a busy machine; both closings are waited for.
  readonly windows = { pay: '2500ms', grace: '100ms', ship: 'off' };
}

@Module({ providers: [ShopSettings], exports: [ShopSettings] })
class SettingsModule {}

/** Releases an order's coupon when it closes, in the transaction that closes it. */
@OrderHook()
class Coupons implements HooksOrders {
  readonly heard: OrderTransition[] = [];
  breaksDown = false;

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
    events: { append: async (those) => void events.push(...those) },
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
    await dataSource.query(
      'CREATE TABLE public.coupons (code text PRIMARY KEY, order_id uuid, released int DEFAULT 0)',
    );
  });
  afterAll(async () => {
    await host?.close();
    await database?.drop();
  });

  it('takes payments there, closes on its own time, and tells its own sink', async () => {
    const items = [{ sku: 'TEA-SENCHA', quantity: 1 }];
    const { order } = await host
      .get(PlaceOrder)
      .place({ customerId: 'ann', idempotencyKey: 'first', items });
    const { payment } = await host
      .get(StartPayment)
      .start({ orderId: order.id, customerId: 'ann' });
    expect(payment).toMatchObject({ provider: 'acme', status: 'open' });
    const statusOf = async () => (await host.get(ReadOrder).read(order.id, 'ann')).status;
    await until('it is closed', async () => (await statusOf()) === 'closed', 10_000);
    await until('its end is told', () => events.some(({ to }) => to === 'closed'), 10_000);
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
    const failures = `SELECT 1 FROM deadlines WHERE subject_id = '${order.id}' AND failures > 0`;
    await until('closing has failed', async () => ((await sql(failures)) as []).length > 0, 10_000);
    expect(await sql('SELECT released FROM public.coupons')).toEqual([{ released: 0 }]);
    coupons.breaksDown = false;
    const statusOf = async () => (await host.get(ReadOrder).read(order.id, 'bob')).status;
    await until('it is closed', async () => (await statusOf()) === 'closed', 10_000);
    expect(await sql('SELECT order_id, released FROM public.coupons')).toEqual([
      { order_id: null, released: 1 },
    ]);
    const heard = coupons.heard.filter(({ orderIds }) => orderIds.includes(order.id));
    expect(heard.map(({ from, to, reason }) => [from, to, reason])).toEqual([
      ['none', 'pending_payment', null],
      ['pending_payment', 'closed', 'payment_timeout'],
    ]);
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
