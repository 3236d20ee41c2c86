import {
  type AlarmQueue,
  BullmqDriver,
  DatabaseClock,
  type Lock,
  MemoryDriver,
  openAlarmQueue,
  RedlockLock,
  type TimerDriver,
  TimeoutModule,
  type TimeoutModuleOptions,
} from '@app/timeout';
import { type DynamicModule, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { ApplyNotices } from './apply-notices';
import { ApplyWebhooksHandler } from './apply-webhooks.handler';
import { AskProviderHandler } from './ask-provider.handler';
import { CancelOrder } from './cancel-order';
import { CloseOrder } from './close-order';
import { CloseOverdueHandler } from './close-overdue.handler';
import { type Config, CONFIG } from './config';
import { ConfirmReceipt } from './confirm-receipt';
import { dataSourceOptions } from './data-source';
import { EVENT_STREAM, type EventStream, RedisEventStream } from './event-stream';
import { ExtendWindow } from './extend-window';
import { ForceCloseOrder } from './force-close-order';
import { Gauges } from './gauges';
import { InvariantsSchedule } from './invariants/invariants.schedule';
import { WatchInvariants } from './invariants/watch-invariants';
import { ORDER_LOCK, OrderGuard } from './order-guard';
import { DEADLINE_KINDS } from './order.lifecycle';
import { OrderFeed } from './order-feed';
import { Overview } from './overview';
import { PlaceOrder } from './place-order';
import { ListProducts } from './products';
import { ProviderSuspicion } from './provider-suspicion';
import { createProvider } from './providers/create-provider';
import { PAYMENT_PROVIDER } from './providers/payment-provider';
import { ListOrders, ReadOrder } from './read-order';
import { ReceiptTimeoutHandler } from './receipt-timeout.handler';
import { ReceiveWebhook } from './receive-webhook';
import { Reconcile } from './reconcile';
import { ReconcileSchedule } from './reconcile.schedule';
import { RecordCaptures } from './record-captures';
import { RelayEvents } from './relay-events';
import { RelaySchedule } from './relay.schedule';
import { Retention } from './retention';
import { RetentionSchedule } from './retention.schedule';
import { RunRefundsHandler } from './run-refunds.handler';
import { SettleClosing } from './settle-closing';
import { SettleRefunds } from './settle-refunds';
import { ShipOrder } from './ship-order';
import { ShipmentTimeoutHandler } from './shipment-timeout.handler';
import { StartPayment } from './start-payment';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from './telemetry';

export interface OrdersModuleOptions {
  /** True in the worker role: rings, sweeps, refunds and relays events. */
  readonly ring: boolean;
  /** Parts to use instead of the configured ones; for tests and other set-ups. */
  readonly parts?: {
    readonly lock?: Lock;
    readonly driver?: TimerDriver;
    /** Keys in Redis begin with this, where several installations share one. */
    readonly redisPrefix?: string;
  };
}

/** Injection token: opens the alarms as a BullMQ queue to look at; null where they are none. */
export const OPEN_ALARM_QUEUE = Symbol('OpenAlarmQueue');
export type OpenAlarmQueue = () => AlarmQueue | null;

const API_CONNECTIONS = 20;
const CLOSER_CONNECTIONS = 6;
const CLOSERS = 'closers';
/** Events kept in the stream; a consumer that falls behind further reads order_events instead. */
const STREAM_LENGTH = 100_000;
const UNHEALTHY_SWEEP_MS = 1_000;
/** Slot and driver ring well within this time (bench/punctuality.ts); what is later is the sweep's. */
const LEAVE_TO_TIMER_MS = 1_000;

/** What the brake stops: the other kinds only ask, or carry on what was decided. */
const UNDONE_BY_NOBODY = ['payment', 'shipment', 'receipt'];

const USE_CASES = [
  ApplyNotices,
  CancelOrder,
  CloseOrder,
  ConfirmReceipt,
  ExtendWindow,
  ForceCloseOrder,
  Gauges,
  ListOrders,
  ListProducts,
  OrderFeed,
  OrderGuard,
  Overview,
  PlaceOrder,
  ReadOrder,
  ReceiveWebhook,
  Reconcile,
  RecordCaptures,
  RelayEvents,
  Retention,
  SettleClosing,
  SettleRefunds,
  ShipOrder,
  StartPayment,
  WatchInvariants,
];

const HANDLERS = [
  ApplyWebhooksHandler,
  AskProviderHandler,
  CloseOverdueHandler,
  ReceiptTimeoutHandler,
  RunRefundsHandler,
  ShipmentTimeoutHandler,
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
    const lock =
      parts.lock ?? new RedlockLock({ redis: config.REDIS_URL, onError, prefix: `{${prefix}}:` });
    const suspicion = new ProviderSuspicion();
    const overheard = suspicion.overhear(telemetry);
    const pool = (name: string, connections: number) => ({
      ...dataSourceOptions({ url: config.DATABASE_URL, name: `lastcall ${name}`, connections }),
      retryAttempts: 1,
    });
    return {
      module: OrdersModule,
      global: true,
      imports: [
        TypeOrmModule.forRoot(pool('api', API_CONNECTIONS)),
        TypeOrmModule.forRoot({ ...pool(CLOSERS, CLOSER_CONNECTIONS), name: CLOSERS }),
        TimeoutModule.forRootAsync({
          inject: [getDataSourceToken() as string, getDataSourceToken(CLOSERS) as string],
          useFactory: (dataSource: DataSource, closerDataSource: DataSource) =>
            timeoutOptions(config, telemetry, options, {
              dataSource,
              closerDataSource,
              lock,
              prefix,
              onError,
              suspicion,
            }),
        }),
      ],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: ORDERS_TELEMETRY, useValue: telemetry },
        { provide: ORDER_LOCK, useValue: lock },
        { provide: PAYMENT_PROVIDER, useFactory: () => createProvider(config, overheard) },
        {
          provide: EVENT_STREAM,
          useFactory: () =>
            new RedisEventStream({
              redis: config.REDIS_URL,
              key: `${prefix}:order-events`,
              maxLength: STREAM_LENGTH,
              onError,
            }),
        },
        {
          provide: OPEN_ALARM_QUEUE,
          useValue: (): AlarmQueue | null =>
            config.TIMER_DRIVER === 'bullmq' && !parts.driver
              ? openAlarmQueue({ redis: config.REDIS_URL, prefix: alarmsPrefix(prefix), onError })
              : null,
        },
        ...USE_CASES,
        ...HANDLERS,
        ...(options.ring
          ? [RelaySchedule, ReconcileSchedule, InvariantsSchedule, RetentionSchedule]
          : []),
      ],
      exports: [
        ...[CONFIG, ORDERS_TELEMETRY, PAYMENT_PROVIDER, ORDER_LOCK, OPEN_ALARM_QUEUE],
        ...USE_CASES,
      ],
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stream.close();
  }
}

/** The braces keep all keys of the queue in one hash slot of a cluster. */
function alarmsPrefix(prefix: string): string {
  return `{${prefix}:alarms}`;
}

function timeoutOptions(
  config: Config,
  telemetry: OrdersTelemetry,
  { ring, parts }: OrdersModuleOptions,
  made: {
    readonly dataSource: DataSource;
    readonly closerDataSource: DataSource;
    readonly lock: Lock;
    readonly prefix: string;
    readonly onError: (error: Error) => void;
    readonly suspicion: ProviderSuspicion;
  },
): TimeoutModuleOptions {
  const { prefix, onError, suspicion, ...given } = made;
  const clock = new DatabaseClock(made.closerDataSource);
  const driver =
    parts?.driver ??
    (config.TIMER_DRIVER === 'memory'
      ? new MemoryDriver({ databaseClock: clock, onError })
      : new BullmqDriver({
          redis: config.REDIS_URL,
          prefix: alarmsPrefix(prefix),
          databaseClock: clock,
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
    brake: {
      kinds: UNDONE_BY_NOBODY,
      share: config.BLAST_RADIUS,
      suspicion: () => suspicion.read(),
      onEngaged: (facts) => telemetry.alarm('timeouts_stopped', { ...facts }),
    },
    parts: { ...given, driver, clock, telemetry },
  };
}
