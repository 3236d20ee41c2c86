import 'reflect-metadata';
import {
  hostOptionsAsConfig,
  migrate,
  OrdersModule,
  type OrdersHostOptions,
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
  readonly windows = { pay: '400ms', grace: '100ms', ship: 'off' };
}

@Module({ providers: [ShopSettings], exports: [ShopSettings] })
class SettingsModule {}

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
    host = await Test.createTestingModule({ imports: [orders()] }).compile();
    host.useLogger(false);
    await host.init();
    await seedProducts(host.get<DataSource>(DATABASE));
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
