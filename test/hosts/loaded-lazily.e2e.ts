import 'reflect-metadata';
import { hostOptionsAsConfig, migrate, OrdersModule, type OrdersHostOptions } from '@app/orders';
import {
  CloseTarget,
  CloseTargetModule,
  CloseTargets,
  type ClosesOrders,
} from '../../libs/orders/src/targets';
import { TimeoutModule } from '../../libs/timeout/src/public';
import type { DynamicModule } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';

/** A host that loads orders once it runs: Nest starts nothing of them, and tells nobody. */

let database: TestDatabase;
let host: TestingModule;
let options: OrdersHostOptions;
beforeAll(async () => {
  database = await createTestDatabase();
  options = { postgres: { url: database.url }, payments: [new LedgerProvider('acme')] };
  await migrate(hostOptionsAsConfig(options));
  const deadlines = TimeoutModule.forRoot({ postgres: { url: database.url }, driver: 'memory' });
  host = await Test.createTestingModule({ imports: [deadlines] }).compile();
  await host.init();
});
afterAll(async () => {
  await host?.close();
  await database?.drop();
});

const none = () => Promise.resolve([]);

@CloseTarget({ kind: 'order-close' })
class ShopOrders implements ClosesOrders {
  lockOpen = none;
  openPayments = none;
  findPayments = none;
  close = none;
  markPaid = none;
}

const closeTargets = (): DynamicModule =>
  CloseTargetModule.forRoot({ targets: [ShopOrders], payments: [new LedgerProvider('acme')] });

it.each<[string, () => DynamicModule]>([
  ['OrdersModule', () => OrdersModule.forRootAsync({ role: 'arm', useFactory: () => options })],
  ['CloseTargetModule', closeTargets],
])('is told that %s would do nothing', async (name, load) => {
  const loading = host.get(LazyModuleLoader).load(load);
  await expect(loading).rejects.toMatchObject({
    code: 'lazily_loaded',
    message: expect.stringContaining(`${name} is loaded lazily`) as string,
  });
});

it('loads close targets whenever it likes where it only arms', async () => {
  const postgres = { url: database.url };
  const arming = TimeoutModule.forRoot({ role: 'arm', postgres, driver: 'memory' });
  const shop = await Test.createTestingModule({ imports: [arming] }).compile();
  await shop.init();
  try {
    const loaded = await shop.get(LazyModuleLoader).load(closeTargets);
    expect(loaded.get(CloseTargets)).toBeInstanceOf(CloseTargets);
  } finally {
    await shop.close();
  }
});
