import 'reflect-metadata';
import { hostOptionsAsConfig, migrate, OrdersModule, type OrdersHostOptions } from '@app/orders';
import { Inject, Injectable, Module } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';

/** A host whose provider of payments is made anew for each request, as whatever asks for one of its parts. */

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
      message: expect.stringContaining('OrdersModule.forRootAsync is given AcmePay') as string,
    });
  },
);
