import { DATABASE, OrderGuard, PlaceOrder, SETTINGS, type Settings } from '@app/orders';
import type { FactoryProvider } from '@nestjs/common';
import type { DataSource } from 'typeorm';

/** For the sample shop: an order that whoever has placed it can see close within half a minute. */
export const QUICK_PLACING = Symbol('QuickPlacing');
const WINDOW_MS = 20_000;
const GRACE_MS = 5_000;

/** The policy of an order is copied onto it when it is placed: so another policy is another placing. */
export const quickPlacingProvider: FactoryProvider<PlaceOrder> = {
  provide: QUICK_PLACING,
  useFactory: (dataSource: DataSource, guard: OrderGuard, settings: Settings) =>
    new PlaceOrder(dataSource, guard, {
      ...settings,
      PAYMENT_WINDOW: WINDOW_MS,
      PAYMENT_GRACE: GRACE_MS,
    }),
  inject: [DATABASE, OrderGuard, SETTINGS],
};
