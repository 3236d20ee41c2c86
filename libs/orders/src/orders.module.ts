import {
  type AlarmBoard,
  DatabaseClock,
  type Lock,
  NoopLock,
  RedlockLock,
  type TimerDriver,
  timerDriverKind,
  TimeoutCoreModule,
  type TimeoutCoreOptions,
} from '@app/timeout';
import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { API_CONNECTIONS_NAME, longestApiTransactionMs } from './api-wait';
import { ApplyNotices } from './payments/apply-notices';
import { CancelOrder } from './closing/cancel-order';
import { CancelPaid } from './closing/cancel-paid';
import { CancelOrderByOperator } from './ops/cancel-order-by-operator';
import { CreateRefund } from './ops/create-refund';
import { SettleOrder } from './ops/settle-order';
import { CloseOrder } from './closing/close-order';
import { type Config, settingsOf, SETTINGS } from './config';
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
import { Gauges } from './ops/gauges';
import { WarnShipments } from './fulfilment/warn-shipments';
import { WatchWaits } from './ops/watch-waits';
import { WatchInvariants } from './invariants/watch-invariants';
import { ORDER_LOCK, OrderGuard } from './order/order-guard';
import { BRAKED_KINDS, DEADLINE_KINDS } from './order/deadline-table';
import { OrderFeed } from './events/order-feed';
import { StreamTokens } from './events/stream-tokens';
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
import { createProviders } from './providers/create-providers';
import { PaymentProviders } from './providers/payment-providers';
import { ListOrders, ReadOrder } from './closing/read-order';
import { ReceiveWebhook } from './payments/receive-webhook';
import { ReconcileFixes } from './reconciling/reconcile-fixes';
import { ReconcileRuns } from './reconciling/reconcile-runs';
import { Reconcile } from './reconciling/reconcile';
import { RecordCaptures } from './money/record-captures';
import { RelayEvents } from './events/relay-events';
import { Retention } from './retention';
import { Schedules } from './schedules';
import { SEAL_KEY } from './events/seal';
import { SealHistory } from './events/seal-history';
import { SettleClosing } from './closing/settle-closing';
import { SettleRefunds } from './money/settle-refunds';
import { ShipOrder } from './fulfilment/ship-order';
import { StartPayment } from './payments/start-payment';
import { TellOfProcess } from './ops/tell-of-process';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from './order/telemetry';

export interface OrdersModuleOptions {
  /** True in the worker role: rings, sweeps, refunds and relays events. */
  readonly ring: boolean;
  /** True for a command: it comes and goes, and is no process of the installation. */
  readonly isVisitor?: boolean;
  /** Parts to use instead of the configured ones; for tests and other set-ups. */
  readonly parts?: {
    readonly lock?: Lock;
    readonly driver?: TimerDriver;
    /** Keys in Redis begin with this, where several installations share one. */
    readonly redisPrefix?: string;
  };
}

/** Injection token: opens the alarms as a queue to look at; null where they are none. */
export const OPEN_ALARM_QUEUE = Symbol('OpenAlarmQueue');
export type OpenAlarmQueue = () => AlarmBoard | null;

const API_CONNECTIONS = 20;
/** Events kept in the stream; a consumer that falls behind further reads order_events instead. */
const STREAM_LENGTH = 100_000;
const UNHEALTHY_SWEEP_MS = 1_000;
/** Slot and driver ring well within this time (bench/punctuality.ts); what is later is the sweep's. */
const LEAVE_TO_TIMER_MS = 1_000;

const USE_CASES = [
  ApplyNotices,
  CancelOrder,
  CancelOrderByOperator,
  CancelPaid,
  CloseOrder,
  ConfirmReceipt,
  CreateRefund,
  ExtendWindow,
  FoldStock,
  ForceCloseOrder,
  ForeignMoney,
  Gauges,
  ListOrders,
  ListProducts,
  OrderFeed,
  OrderGuard,
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
    options: OrdersModuleOptions,
  ): DynamicModule {
    const parts = options.parts ?? {};
    const prefix = parts.redisPrefix ?? 'lc';
    const onError = (error: Error): void => telemetry.failed('redis', error);
    const { REDIS_URL: redis } = config;
    const lock =
      parts.lock ??
      // Without Redis the rows themselves are what callers wait for: the conditional update decides.
      (redis ? new RedlockLock({ redis, onError, prefix: `{${prefix}}:` }) : new NoopLock());
    const suspicion = new ProviderSuspicion();
    const { DATABASE_URL: url, DATABASE_SCHEMA: schema } = config;
    const database = DatabaseModule.forRoot({
      api: { url, schema, name: API_CONNECTIONS_NAME, connections: API_CONNECTIONS },
      // Each kind has one to itself, and those that burst at the same time do not wait for each other.
      closers: {
        url,
        schema,
        name: 'lastcall closers',
        connections: DEADLINE_KINDS.length + 2 * config.DRAINERS,
      },
    });
    return {
      module: OrdersModule,
      global: true,
      imports: [
        database,
        TimeoutCoreModule.forRootAsync({
          imports: [database],
          inject: [DATABASE, CLOSERS],
          useFactory: (dataSource: DataSource, drainDataSource: DataSource) =>
            timeoutOptions(config, telemetry, options, {
              dataSource,
              drainDataSource,
              lock,
              prefix,
              onError,
              suspicion,
            }),
        }),
      ],
      providers: [
        { provide: SETTINGS, useValue: settingsOf(config) },
        { provide: SEAL_KEY, useValue: config.HISTORY_SEAL_KEY ?? null },
        { provide: ORDERS_TELEMETRY, useValue: telemetry },
        { provide: ORDER_LOCK, useValue: lock },
        {
          provide: PaymentProviders,
          inject: [DATABASE],
          useFactory: async (dataSource: DataSource) =>
            createProviders(config, telemetry, {
              installation: await readInstallationId(dataSource),
              onOutcome: (outcome) => suspicion.note(outcome),
            }),
        },
        {
          provide: EVENT_STREAM,
          useFactory: () => {
            const stream = { key: `${prefix}:order-events`, maxLength: STREAM_LENGTH, onError };
            return redis ? new RedisEventStream({ redis, ...stream }) : new NoEventStream();
          },
        },
        {
          provide: OPEN_ALARM_QUEUE,
          useValue: (): AlarmBoard | null => {
            if (parts.driver) return null;
            const kind = timerDriverKind(config.TIMER_DRIVER);
            return kind.openBoard?.({ settings: config, prefix, onError }) ?? null;
          },
        },
        ...USE_CASES,
        ...findDeadlineHandlers(),
        ...(options.ring ? [Schedules] : []),
        ...(options.isVisitor ? [] : [TellOfProcess]),
      ],
      exports: [
        database,
        ...[SETTINGS, SEAL_KEY, ORDERS_TELEMETRY, PaymentProviders, ORDER_LOCK, OPEN_ALARM_QUEUE],
        ...USE_CASES,
      ],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stream.close();
  }
}

async function timeoutOptions(
  config: Config,
  telemetry: OrdersTelemetry,
  { ring, parts }: OrdersModuleOptions,
  made: {
    readonly dataSource: DataSource;
    readonly drainDataSource: DataSource;
    readonly lock: Lock;
    readonly prefix: string;
    readonly onError: (error: Error) => void;
    readonly suspicion: ProviderSuspicion;
  },
): Promise<TimeoutCoreOptions> {
  const { prefix, onError, suspicion, ...given } = made;
  const clock = new DatabaseClock(made.drainDataSource);
  const driver =
    parts?.driver ??
    (await timerDriverKind(config.TIMER_DRIVER).create({
      settings: config,
      dataSource: made.dataSource,
      databaseClock: clock,
      prefix,
      onError,
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
    parts: { ...given, driver, clock, telemetry },
  };
}
