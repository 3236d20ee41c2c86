import 'reflect-metadata';
import { hostOptionsAsConfig, migrate, OrdersModule, type OrdersHostOptions } from '@app/orders';
import { OrdersHttpModule } from '@app/orders/http';
import { Controller, Get, VersioningType } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';

/** The shop has had orders of its own at this path for years. */
@Controller({ path: 'orders', version: '1' })
class OwnOrders {
  @Get()
  list(): string[] {
    return ['an order of the shop'];
  }
}

let database: TestDatabase;
let host: NestFastifyApplication;
beforeAll(async () => {
  database = await createTestDatabase();
  const options: OrdersHostOptions = {
    postgres: { url: database.url },
    payments: [new LedgerProvider('acme')],
  };
  await migrate(hostOptionsAsConfig(options));
  const module = await Test.createTestingModule({
    imports: [
      OrdersModule.forRootAsync({ role: 'arm', useFactory: () => options }),
      OrdersHttpModule.forRoot({ caller: () => ({ subject: 'ann' }) }),
      RouterModule.register([{ path: 'lastcall', module: OrdersHttpModule }]),
    ],
    controllers: [OwnOrders],
  }).compile();
  const made = { rawBody: true, logger: false } as const;
  host = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), made);
  host.setGlobalPrefix('api');
  host.enableVersioning({ type: VersioningType.URI });
  await host.init();
});
afterAll(async () => {
  await host?.close();
  await database?.drop();
});

const read = async (url: string): Promise<unknown> => JSON.parse((await host.inject(url)).body);

it("stand under a path of their own by Nest's RouterModule, and leave the shop's alone", async () => {
  expect(await read('/api/v1/orders')).toEqual(['an order of the shop']);
  expect(await read('/api/lastcall/v1/orders')).toEqual({ items: [], nextCursor: null });
});
