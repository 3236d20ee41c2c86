import 'reflect-metadata';
import {
  hostOptionsAsConfig,
  migrate,
  OrdersModule,
  type OrdersHostOptions,
  SecondOrdersModuleError,
} from '@app/orders';
import { Test } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';

/** A host that serves two shops: an application has one order module, and a process several applications. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  for (const shop of ['tea', 'mugs']) await migrate(hostOptionsAsConfig(options(shop)));
});
afterAll(() => database?.drop());

const options = (shop: string): OrdersHostOptions => ({
  postgres: { url: database.url },
  schema: shop,
  payments: [new LedgerProvider(shop)],
});

const ordersOf = (shop: string, role: 'ring' | 'arm') =>
  OrdersModule.forRootAsync({ role, useFactory: () => options(shop) });

async function boot(imports: readonly ReturnType<typeof ordersOf>[]) {
  const host = await Test.createTestingModule({ imports: [...imports] }).compile();
  host.useLogger(false);
  await host.init();
  return host;
}

it.each(['ring', 'arm'] as const)('is told of a second one, as role %s', async (role) => {
  const both = boot([ordersOf('tea', role), ordersOf('mugs', role)]);
  const error: unknown = await both.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SecondOrdersModuleError);
  expect(error).toMatchObject({ code: 'second_orders_module' });
  expect((error as Error).message).toContain('an application of its own');
});

it('starts an application for each, in one process', async () => {
  const hosts = await Promise.all(['tea', 'mugs'].map((shop) => boot([ordersOf(shop, 'ring')])));
  await Promise.all(hosts.map((host) => host.close()));
});

it('may be closed twice, also at once, as by a signal and by hand', async () => {
  const host = await boot([ordersOf('tea', 'ring')]);
  const told = jest.fn();
  host.useLogger({ log: () => undefined, warn: told, error: told });
  await Promise.all([host.close(), host.close()]);
  await host.close();
  expect(told.mock.calls).toEqual([]);
});
