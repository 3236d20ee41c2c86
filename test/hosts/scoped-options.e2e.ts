import 'reflect-metadata';
import { hostOptionsAsConfig, migrate, OrdersModule, type OrdersHostOptions } from '@app/orders';
import { CloseTarget, CloseTargetModule, type ClosesOrders } from '../../libs/orders/src/targets';
import { TimeoutModule } from '../../libs/timeout/src/public';
import { Inject, Injectable, Module } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';

/** A host whose provider of payments, or table, is made anew for each request, as whatever asks for one of its parts. */

let database: TestDatabase;
beforeAll(async () => (database = await createTestDatabase()));
afterAll(() => database?.drop());

@Injectable()
class AcmePay extends LedgerProvider {
  constructor(@Inject(REQUEST) readonly request: unknown) {
    super('acme');
  }
}

@Module({ providers: [AcmePay], exports: [AcmePay] })
class AcmeModule {}

it.each(['ring', 'arm'] as const)(
  'is told that OrdersModule would do nothing (%s)',
  async (role) => {
    const options = (acme: AcmePay): OrdersHostOptions => ({
      ...{ postgres: { url: database.url }, payments: [acme] },
    });
    await migrate(hostOptionsAsConfig(options(new AcmePay(undefined))));
    const orders = OrdersModule.forRootAsync({
      ...{ role, imports: [AcmeModule], inject: [AcmePay], useFactory: options },
    });
    const host = await Test.createTestingModule({ imports: [orders] }).compile();
    await expect(host.init()).rejects.toMatchObject({
      code: 'scoped_options',
      message: expect.stringContaining('OrdersModule is given AcmePay') as string,
    });
  },
);

class Table implements ClosesOrders {
  lockOpen = async () => [];
  openPayments = async () => [];
  findPayments = async () => [];
  close = async () => [];
  markPaid = async () => [];
}
@CloseTarget({ kind: 'order-close' })
class ShopOrders extends Table {}
@CloseTarget({ kind: 'order-close' })
class OrdersOfTenant extends Table {
  constructor(@Inject(REQUEST) readonly request: unknown) {
    super();
  }
}

/** Where it rings as well, its handlers are refused first. */
it.each([
  [
    'AcmePay',
    () =>
      CloseTargetModule.forRootAsync({
        ...{ targets: [ShopOrders], imports: [AcmeModule], inject: [AcmePay] },
        useFactory: (acme: AcmePay) => ({ payments: [acme] }),
      }),
  ],
  [
    'OrdersOfTenant',
    () => {
      const payments = [new LedgerProvider('acme')] as const;
      return CloseTargetModule.forRoot({ targets: [OrdersOfTenant], payments });
    },
  ],
])('is told that CloseTargetModule would do nothing (%s)', async (name, closing) => {
  const postgres = { url: database.url };
  const deadlines = TimeoutModule.forRoot({ postgres, driver: 'memory', role: 'arm' });
  const host = await Test.createTestingModule({ imports: [deadlines, closing()] }).compile();
  await expect(host.init()).rejects.toMatchObject({
    code: 'scoped_options',
    message: expect.stringContaining(`CloseTargetModule is given ${name}`) as string,
  });
  await host.close();
});
