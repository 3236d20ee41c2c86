import type { Lock } from '@app/timeout';
import { assertLoadedAtBoot, onlyMadeOnce, TimeoutCoreModule } from '@app/timeout/module';
import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  type InjectionToken,
  Module,
  type OnApplicationShutdown,
  type ValueProvider,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { type Config, SETTINGS } from './config';
import { CLOSERS, DATABASE } from './data-source';
import { DatabaseModule } from './database.module';
import { findDeadlineHandlers } from './deadline-handlers';
import { CarryOutErrands } from './errands/carry-out-errands';
import { EVENT_STREAM, type EventStream } from './events/event-stream';
import { SEAL_KEY } from './events/seal';
import { hostSetUp, type OrdersHostOptions, type OrdersModuleAsyncOptions } from './host-options';
import { checkAsyncOptions, checkModuleOptions, type OrdersModuleOptions } from './module-options';
import { ForceCloseOrders } from './ops/force-close-orders';
import { SettlePayment } from './ops/held-payments';
import { RedisMark } from './ops/redis-mark';
import { RedisOwner } from './ops/redis-owner';
import { TellOfProcess, WORKS } from './ops/tell-of-process';
import { TellOfRedis } from './ops/tell-of-redis';
import { TellOfTables } from './ops/tell-of-tables';
import { ORDER_LOCK } from './order/order-guard';
import { HOOKS_ELSEWHERE } from './order/order-hooks';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from './order/telemetry';
import { PROVIDERS_ELSEWHERE } from './providers/create-providers';
import { PaymentProviders } from './providers/payment-providers';
import { ProviderSuspicion } from './providers/provider-suspicion';
import { Schedules } from './schedules';
import { assertOnlyOrdersModule } from './second-orders-module';
import { IS_VISITOR, type OrdersSetUp, SET_UP } from './set-up';
import { LOCK, OF_THE_SET_UP, OPEN_ALARM_QUEUE } from './set-up-providers';
import { timeoutOptions } from './timeout-options';
import { USE_CASES } from './use-cases';

/** The order module: import it once, with the settings and where to report. */
@Module({})
export class OrdersModule implements OnApplicationShutdown {
  constructor(
    @Inject(EVENT_STREAM) private readonly stream: EventStream,
    discovery: DiscoveryService,
  ) {
    assertOnlyOrdersModule(discovery);
  }

  static forRoot(
    config: Config,
    telemetry: OrdersTelemetry,
    given: OrdersModuleOptions,
  ): DynamicModule {
    const { parts = {}, ...options } = checkModuleOptions(given);
    const useValue: OrdersSetUp = { config, telemetry, parts };
    return assemble({ provide: SET_UP, useValue }, options);
  }

  /** For a host, which says what it has in its own words: {@link OrdersHostOptions}. */
  static forRootAsync<const Tokens extends readonly InjectionToken[] = readonly []>(
    options: OrdersModuleAsyncOptions<Tokens>,
  ): DynamicModule {
    const { role = 'ring', imports = [], inject, useFactory } = checkAsyncOptions(options);
    const make = useFactory as (
      ...args: unknown[]
    ) => OrdersHostOptions | Promise<OrdersHostOptions>;
    const setUp: FactoryProvider<OrdersSetUp> = {
      provide: SET_UP,
      inject: [...(inject ?? [])],
      useFactory: async (...args: unknown[]) => hostSetUp(await make(...args)),
    };
    return assemble(setUp, { ring: role === 'ring', isOfHost: true }, imports);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stream.close();
  }
}

/** Injection token: the set-up as a host gives it. */
const GIVEN_SET_UP = Symbol('GivenSetUp');

/** Keeps the set-up to the modules that are made from it. */
@Module({})
class OrdersSetUpModule {}

function assemble(
  provider: FactoryProvider<OrdersSetUp> | ValueProvider<OrdersSetUp>,
  {
    ring,
    isVisitor = false,
    isOfHost = false,
    hooksElsewhere = false,
    providersElsewhere = [],
  }: Omit<OrdersModuleOptions, 'parts'> & { readonly isOfHost?: boolean },
  imports: DynamicModule['imports'] = [],
): DynamicModule {
  const setUp: DynamicModule = {
    module: OrdersSetUpModule,
    imports: [DiscoveryModule, ...imports],
    providers: [
      { ...provider, provide: GIVEN_SET_UP },
      onlyMadeOnce(GIVEN_SET_UP, 'OrdersModule'),
      {
        provide: SET_UP,
        inject: [GIVEN_SET_UP, DiscoveryService],
        // Before anything is opened.
        useFactory: (given: OrdersSetUp, discovery: DiscoveryService): OrdersSetUp => {
          const unheard = 'no hook would hear of its orders, and no deadline of theirs would ring';
          assertLoadedAtBoot(discovery, SET_UP, 'OrdersModule', unheard);
          return given;
        },
      },
      { provide: IS_VISITOR, useValue: isVisitor },
      { provide: ProviderSuspicion, useFactory: () => new ProviderSuspicion() },
      LOCK,
    ],
    exports: [SET_UP, IS_VISITOR, ProviderSuspicion, ORDER_LOCK],
  };
  const database = DatabaseModule.forRoot(setUp, ring);
  return {
    module: OrdersModule,
    global: true,
    imports: [
      DiscoveryModule,
      setUp,
      database,
      TimeoutCoreModule.forRootAsync({
        imports: [setUp, database],
        inject: [SET_UP, DATABASE, CLOSERS, ORDER_LOCK, ProviderSuspicion],
        useFactory: (
          given: OrdersSetUp,
          dataSource: DataSource,
          drainDataSource: DataSource,
          lock: Lock,
          suspicion: ProviderSuspicion,
        ) => timeoutOptions(given, ring, { dataSource, drainDataSource, lock }, suspicion),
      }),
    ],
    providers: [
      ...OF_THE_SET_UP,
      { provide: HOOKS_ELSEWHERE, useValue: hooksElsewhere },
      { provide: PROVIDERS_ELSEWHERE, useValue: providersElsewhere },
      { provide: WORKS, useValue: ring },
      ...USE_CASES,
      ...findDeadlineHandlers(),
      ...(ring ? [Schedules, CarryOutErrands, ForceCloseOrders, SettlePayment] : []),
      ...(isVisitor ? [] : [TellOfProcess, TellOfRedis]),
      ...(isOfHost ? [TellOfTables] : []),
    ],
    exports: [
      database,
      ...[SETTINGS, SEAL_KEY, EVENT_STREAM, ORDERS_TELEMETRY, PaymentProviders, OPEN_ALARM_QUEUE],
      RedisMark,
      RedisOwner,
      ...USE_CASES,
    ],
  };
}
