import 'reflect-metadata';
import { Controller, type ModuleMetadata, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';

import { type HooksOrders, OrderHook } from './order-hook';
import { HOOKS_ELSEWHERE, HOST_SEARCH_PATH, OrderHooks } from './order-hooks';
import { NO_STOCK_PORT, STOCK_PORT } from './stock-port';
import { ORDERS_TELEMETRY, silentOrdersTelemetry } from './telemetry';

@OrderHook()
class Coupons implements HooksOrders {
  onTransition = () => Promise.resolve();
}

async function hearIn(metadata: ModuleMetadata): Promise<boolean> {
  const { providers = [], ...others } = metadata;
  const given: Provider[] = [
    { provide: HOST_SEARCH_PATH, useValue: () => Promise.resolve('public') },
    { provide: STOCK_PORT, useValue: NO_STOCK_PORT },
    { provide: ORDERS_TELEMETRY, useValue: silentOrdersTelemetry },
    { provide: HOOKS_ELSEWHERE, useValue: false },
  ];
  const app = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [OrderHooks, ...given, ...providers],
    ...others,
  }).compile();
  await app.init();
  return app.get(OrderHooks).hasAny;
}

it.each<[string, Provider]>([
  ['by its class', Coupons],
  ['by a factory', { provide: Coupons, useFactory: () => new Coupons() }],
  ['by a factory under another name', { provide: 'COUPONS', useFactory: () => new Coupons() }],
  ['as a value', { provide: 'COUPONS', useValue: new Coupons() }],
  ['as a value in its place', { provide: Coupons, useValue: { onTransition: jest.fn() } }],
])('hears of orders where it is provided %s', async (_how, provider) => {
  expect(await hearIn({ providers: [provider] })).toBe(true);
});

it('hears of orders as a controller', async () => {
  @Controller('coupons')
  @OrderHook()
  class CouponsController extends Coupons {}
  expect(await hearIn({ controllers: [CouponsController] })).toBe(true);
});

it('is nobody where none is provided', async () => {
  expect(await hearIn({})).toBe(false);
});
