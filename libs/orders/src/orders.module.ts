import {
  type AlarmBoard,
  hashTagCount,
  hashTags,
  DatabaseClock,
  type Lock,
  NoopLock,
  onceFree,
  RedlockLock,
  searchPathOf,
  timerDriverKind,
} from '@app/timeout';
import { TimeoutCoreModule, type TimeoutCoreOptions } from '@app/timeout/module';
import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  type InjectionToken,
  Module,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { longestApiTransactionMs } from './api-wait';
import { ApplyNotices } from './payments/apply-notices';
import { ExtendPayments } from './closing/extend-payments';
import { CancelOrder } from './closing/cancel-order';
import { CarryOutErrands } from './errands/carry-out-errands';
import { CancelPaid } from './closing/cancel-paid';
import { CancelWishes } from './closing/cancel-wishes';
import { CancelOrderByOperator } from './ops/cancel-order-by-operator';
import { CreateRefund } from './ops/create-refund';
import { SettleOrder } from './ops/settle-order';
import { CloseOrder } from './closing/close-order';
import { type Config, REDIS_PREFIX, settingsOf, SETTINGS } from './config';
import { ConfirmReceipt } from './fulfilment/confirm-receipt';
import { CLOSERS, DATABASE } from './data-source';
import { DatabaseModule } from './database.module';
import { findDeadlineHandlers } from './deadline-handlers';
import {
  EVENT_STREAM,
  type EventStream,
  NoEventStream,
  RedisEventStream,
} from './events/event-stream';
import { ExtendWindow } from './closing/extend-window';
import { ForceCloseOrder } from './closing/force-close-order';
import { ForeignMoney } from './money/foreign-money';
import { ForceCloseOrders } from './ops/force-close-orders';
import { SettlePayment } from './ops/held-payments';
import { Gauges } from './ops/gauges';
import { WarnShipments } from './fulfilment/warn-shipments';
import { WatchWaits } from './ops/watch-waits';
import { WatchInvariants } from './invariants/watch-invariants';
import { ORDER_LOCK, OrderGuard } from './order/order-guard';
import { HOOKS_ELSEWHERE, HOST_SEARCH_PATH, OrderHooks } from './order/order-hooks';
import { BRAKED_KINDS, DEADLINE_KINDS } from './order/deadline-table';
import { NO_STOCK_PORT, STOCK_PORT } from './order/stock-port';
import { OrderFeed } from './events/order-feed';
import { StreamTokens } from './events/stream-tokens';
import { NamesInLogs } from './order/names-in-logs';
import { SigningKey } from './order/signing-key';
import { Overview } from './ops/overview';
import { PageSessions } from './sessions/page-sessions';
import { PlaceOrder } from './placing/place-order';
import { FoldStock } from './stock/fold-stock';
import { ListProducts } from './stock/products';
import { ProviderSuspicion } from './providers/provider-suspicion';
import { StrandedWork } from './providers/stranded-work';
import { readInstallationId } from './providers/installation-id';
import { UnchargeableProducts } from './providers/unchargeable-products';
import { createProviders, guardProviders, PROVIDERS_ELSEWHERE } from './providers/create-providers';
import { hostSetUp, type OrdersHostOptions, type OrdersModuleAsyncOptions } from './host-options';
import { checkAsyncOptions, checkModuleOptions, type OrdersModuleOptions } from './module-options';
import { IS_VISITOR, type OrdersSetUp, SET_UP } from './set-up';
import { PaymentProviders } from './providers/payment-providers';
import { ListOrders, ReadOrder } from './closing/read-order';
import { ReceiveWebhook } from './payments/receive-webhook';
import { ReconcileFixes } from './reconciling/reconcile-fixes';
import { ReconcileRuns } from './reconciling/reconcile-runs';
import { Reconcile } from './reconciling/reconcile';
import { RecordCaptures } from './money/record-captures';
import { Deliveries } from './deliveries/deliveries';
import { DeliverWebhooks } from './deliveries/deliver-webhooks';
import { WebhookEndpoints } from './deliveries/endpoints';
import { FanOutEvents } from './deliveries/fan-out';
import { DigestHistory } from './events/digest-history';
import { RelayEvents } from './events/relay-events';
import { Retention } from './retention';
import { Schedules } from './schedules';
import { SEAL_KEY } from './events/seal';
import { SealHistory } from './events/seal-history';
import { SettleClosing } from './closing/settle-closing';
import { SettleRefunds } from './money/settle-refunds';
import { ShipOrder } from './fulfilment/ship-order';
import { StartPayment } from './payments/start-payment';
import { RedisOwner } from './ops/redis-owner';
import { HOSTS_PROVIDERS, TellOfProcess, WORKS } from './ops/tell-of-process';
import { TellOfRedis } from './ops/tell-of-redis';
import {
  ORDERS_TELEMETRY,
  type OrdersTelemetry,
  TELL_OF_ALERT,
  type TellOfAlert,
} from './order/telemetry';

/** Injection token: opens the alarms as a queue to look at; null where they are none. */
export const OPEN_ALARM_QUEUE = Symbol('OpenAlarmQueue');
export type OpenAlarmQueue = () => AlarmBoard | null;

/** Events kept in the stream; a consumer that falls behind further reads order_events instead. */
const STREAM_LENGTH = 100_000;
const UNHEALTHY_SWEEP_MS = 1_000;
/** Slot and driver ring well within this time (bench/punctuality.ts); what is later is the sweep's. */
const LEAVE_TO_TIMER_MS = 1_000;

const USE_CASES = [
  Deliveries,
  DeliverWebhooks,
  DigestHistory,
  FanOutEvents,
  WebhookEndpoints,
  ApplyNotices,
  CancelOrder,
  CancelOrderByOperator,
  CancelPaid,
  CancelWishes,
  CloseOrder,
  ConfirmReceipt,
  CreateRefund,
  ExtendPayments,
  ExtendWindow,
  FoldStock,
  ForceCloseOrder,
  ForeignMoney,
  Gauges,
  ListOrders,
  ListProducts,
  NamesInLogs,
  OrderFeed,
  OrderGuard,
  OrderHooks,
  Overview,
  PageSessions,
  PlaceOrder,
  ReadOrder,
  ReceiveWebhook,
  Reconcile,
  ReconcileFixes,
  ReconcileRuns,
  RecordCaptures,
  RelayEvents,
  Retention,
  SealHistory,
  SettleClosing,
  SettleOrder,
  SettleRefunds,
  ShipOrder,
  SigningKey,
  StartPayment,
  StrandedWork,
  StreamTokens,
  UnchargeableProducts,
  WarnShipments,
  WatchInvariants,
  WatchWaits,
];

/** The order module: import it once, with the settings and where to report. */
@Module({})
export class OrdersModule implements OnApplicationShutdown {
  constructor(@Inject(EVENT_STREAM) private readonly stream: EventStream) {}

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
    return assemble(setUp, { ring: role === 'ring' }, imports);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stream.close();
  }
}

/** Keeps the set-up to the modules that are made from it. */
@Module({})
class OrdersSetUpModule {}

function assemble(
  provider: Provider<OrdersSetUp>,
  {
    ring,
    isVisitor = false,
    hooksElsewhere = false,
    providersElsewhere = [],
  }: Omit<OrdersModuleOptions, 'parts'>,
  imports: DynamicModule['imports'] = [],
): DynamicModule {
  const setUp: DynamicModule = {
    module: OrdersSetUpModule,
    imports: [...imports],
    providers: [
      provider,
      { provide: ProviderSuspicion, useFactory: () => new ProviderSuspicion() },
      LOCK,
    ],
    exports: [SET_UP, ProviderSuspicion, ORDER_LOCK],
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
      { provide: IS_VISITOR, useValue: isVisitor },
      ...USE_CASES,
      ...findDeadlineHandlers(),
      ...(ring ? [Schedules, CarryOutErrands, ForceCloseOrders, SettlePayment] : []),
      ...(isVisitor ? [] : [TellOfProcess, TellOfRedis]),
    ],
    exports: [
      database,
      ...[SETTINGS, SEAL_KEY, EVENT_STREAM, ORDERS_TELEMETRY, PaymentProviders, OPEN_ALARM_QUEUE],
      RedisOwner,
      ...USE_CASES,
    ],
  };
}

const prefixOf = ({ parts }: OrdersSetUp): string => parts.redisPrefix ?? REDIS_PREFIX;
const toldAs =
  (what: string, { telemetry }: OrdersSetUp) =>
  (error: Error): void =>
    telemetry.failed(what, error);
const redisFailed = (setUp: OrdersSetUp) => toldAs('redis', setUp);

const LOCK: Provider = {
  provide: ORDER_LOCK,
  inject: [SET_UP],
  useFactory: (setUp: OrdersSetUp): Lock => {
    const { REDIS_URL: redis, REDIS_HASH_TAGS: wanted } = setUp.config;
    if (setUp.parts.lock) return setUp.parts.lock;
    // Without Redis the rows themselves are what callers wait for: the conditional update decides.
    if (!redis) return new NoopLock();
    const tags = hashTags(prefixOf(setUp), hashTagCount(redis, wanted));
    return new RedlockLock({ redis, onError: redisFailed(setUp), tags });
  },
};

/** What use cases are given of the set-up, each as much as it needs. */
const OF_THE_SET_UP: Provider[] = [
  {
    provide: HOST_SEARCH_PATH,
    inject: [SET_UP],
    useFactory:
      ({ config }: OrdersSetUp) =>
      () =>
        searchPathOf({ url: config.DATABASE_URL }),
  },
  {
    provide: STOCK_PORT,
    inject: [SET_UP],
    useFactory: ({ parts }: OrdersSetUp) => parts.stock ?? NO_STOCK_PORT,
  },
  {
    provide: HOSTS_PROVIDERS,
    inject: [SET_UP],
    useFactory: ({ parts }: OrdersSetUp) => (parts.payments ?? []).map(({ name }) => name),
  },
  {
    provide: SETTINGS,
    inject: [SET_UP],
    useFactory: ({ config }: OrdersSetUp) => settingsOf(config),
  },
  {
    provide: SEAL_KEY,
    inject: [SET_UP],
    useFactory: ({ config }: OrdersSetUp) => config.HISTORY_SEAL_KEY ?? null,
  },
  {
    provide: ORDERS_TELEMETRY,
    inject: [SET_UP],
    useFactory: ({ telemetry }: OrdersSetUp) => telemetry,
  },
  {
    provide: TELL_OF_ALERT,
    inject: [SET_UP],
    useFactory: ({ telemetry, tell }: OrdersSetUp): TellOfAlert =>
      tell ?? ((what, fields) => telemetry.alert(what, fields)),
  },
  {
    provide: PaymentProviders,
    inject: [SET_UP, DATABASE, ProviderSuspicion, PROVIDERS_ELSEWHERE, IS_VISITOR],
    useFactory: async (
      { config, telemetry, parts }: OrdersSetUp,
      dataSource: DataSource,
      suspicion: ProviderSuspicion,
      elsewhere: readonly string[],
      isVisitor: boolean,
    ) => {
      const onOutcome = (outcome: string): void => suspicion.note(outcome);
      if (parts.payments) return guardProviders(parts.payments, telemetry, { onOutcome });
      const read = () => readInstallationId(dataSource);
      // Who types a command hears of a locked table at once.
      const installation = await (isVisitor ? read() : onceFree(dataSource, read));
      return createProviders(config, telemetry, { installation, elsewhere, onOutcome });
    },
  },
  {
    provide: EVENT_STREAM,
    inject: [SET_UP],
    useFactory: (setUp: OrdersSetUp): EventStream => {
      const { events } = setUp.parts;
      if (events) {
        return {
          append: (those) => events.append(those),
          // What a host's own sink has taken is the host's to erase.
          forgetReasons: () => Promise.resolve(0),
          close: () => Promise.resolve(),
        };
      }
      const { REDIS_URL: redis } = setUp.config;
      const key = `${prefixOf(setUp)}:order-events`;
      const stream = { key, maxLength: STREAM_LENGTH, onError: redisFailed(setUp) };
      return redis ? new RedisEventStream({ redis, ...stream }) : new NoEventStream();
    },
  },
  {
    provide: RedisOwner,
    inject: [SET_UP, DATABASE],
    useFactory: (setUp: OrdersSetUp, dataSource: DataSource) =>
      new RedisOwner({ redis: setUp.config.REDIS_URL, prefix: prefixOf(setUp), dataSource }),
  },
  {
    provide: OPEN_ALARM_QUEUE,
    inject: [SET_UP],
    useFactory: (setUp: OrdersSetUp) => (): AlarmBoard | null => {
      if (setUp.parts.driver) return null;
      const { config: settings } = setUp;
      const kind = timerDriverKind(settings.TIMER_DRIVER);
      const context = { settings, prefix: prefixOf(setUp), onError: redisFailed(setUp) };
      return kind.openBoard?.(context) ?? null;
    },
  },
];

async function timeoutOptions(
  setUp: OrdersSetUp,
  ring: boolean,
  made: {
    readonly dataSource: DataSource;
    readonly drainDataSource: DataSource;
    readonly lock: Lock;
  },
  suspicion: ProviderSuspicion,
): Promise<TimeoutCoreOptions> {
  const { config, telemetry, parts } = setUp;
  const clock = new DatabaseClock(made.drainDataSource);
  const driver =
    parts.driver ??
    (await timerDriverKind(config.TIMER_DRIVER).create({
      settings: config,
      dataSource: made.dataSource,
      databaseClock: clock,
      prefix: prefixOf(setUp),
      onError: toldAs(`timer driver ${config.TIMER_DRIVER}`, setUp),
    }));
  return {
    ring,
    kinds: DEADLINE_KINDS,
    granularity: config.TIMER_GRANULARITY,
    horizonMs: config.TIMER_HORIZON,
    sweep: {
      intervalMs: config.SWEEP_INTERVAL,
      unhealthyIntervalMs: UNHEALTHY_SWEEP_MS,
      leaveToTimerMs: LEAVE_TO_TIMER_MS,
    },
    drain: { drainers: config.DRAINERS },
    othersWaitMs: () => longestApiTransactionMs(made.drainDataSource),
    brake: {
      kinds: BRAKED_KINDS,
      share: config.BLAST_RADIUS,
      suspicion: () => suspicion.read(),
      onEngaged: (facts) => telemetry.alert('timeouts_stopped', { ...facts }),
    },
    parts: { ...made, driver, clock, telemetry },
  };
}
