import 'reflect-metadata';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Config,
  DATABASE,
  loadConfig,
  onDataSource,
  type OrdersTelemetry,
  OrdersModule,
  type OrdersModuleOptions,
  PaymentProviders,
  type Queryable,
  type StockPort,
} from '@app/orders';
import { TRUSTED_ABILITIES } from '../../libs/timeout/src/testing/trusted-abilities';
import { type Lock, NoopLock, TimeoutService, type TimerDriver } from '@app/timeout';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { DataSource } from 'typeorm';
import { CLOSERS } from '../../libs/orders/src/data-source';
import { EVENT_STREAM, type EventStream } from '../../libs/orders/src/events/event-stream';
import { asOwner, type Owner, patient } from './database';
import { LedgerProvider } from './ledger-provider';
import { createMigratedDatabase } from './migrated-database';

export interface WorldOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Default: none, so that what is shown is shown without its help. */
  readonly lock?: Lock;
  /** Default: one that never rings, so that a test rings by itself. */
  readonly driver?: TimerDriver;
  /** True: rings, sweeps and relays by itself, as the worker role does. */
  readonly ring?: boolean;
  /** True: a command beside a host with hooks or a stock of its own. */
  readonly hooksElsewhere?: boolean;
  /** Another process of the same shop: shares its database and its provider. */
  readonly beside?: World;
  /** A migrated database that somebody else made and will drop. */
  readonly databaseUrl?: string;
  /** False where transactions that stand still are ended as in production; true unless given. */
  readonly isPatient?: boolean;
  /** True where a test has somebody wait for a lock: as long as it takes, and not for a second. */
  readonly waitsForLocks?: boolean;
  /** All that are switched on; the first is {@link World.provider}, and for new payments. */
  readonly providers?: readonly [LedgerProvider, ...LedgerProvider[]];
  /** The host's own; its changes are heard. */
  readonly stock?: StockPort;
  /** The host's own classes, such as those marked `@OrderHook()`. */
  readonly provides?: readonly Type[];
  /** True: the provider that the settings ask for, instead of one in this process. */
  readonly configuredProvider?: boolean;
}

type RelayedEvents = Parameters<EventStream['append']>[0];

/** The stream's other end: everything that was appended, in order. */
export class RecordedStream implements EventStream {
  readonly events: RelayedEvents[number][] = [];
  /** Called before an append takes effect; may reject. */
  before: () => Promise<void> = async () => undefined;

  async append(events: RelayedEvents): Promise<void> {
    await this.before();
    this.events.push(...events);
  }

  async forgetReasons(orderIds: readonly string[]): Promise<number> {
    const kept = this.events.filter((e) => e.by !== 'operator' || !orderIds.includes(e.orderId));
    const forgotten = this.events.length - kept.length;
    this.events.splice(0, this.events.length, ...kept);
    return forgotten;
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}

/** The order module with everything real but the provider, the stream and the alarms' ringing. */
export interface World extends Queryable {
  /** It connects as the application's restricted role. */
  readonly config: Config;
  /** The same database for whoever migrates. */
  readonly ownerUrl: string;
  readonly owner: Owner;
  readonly provider: LedgerProvider;
  readonly stream: RecordedStream;
  readonly dataSource: DataSource;
  readonly drainDataSource: DataSource;
  readonly timeouts: TimeoutService;
  /** What was reported, as `name` and arguments. */
  readonly told: readonly { readonly name: string; readonly args: readonly unknown[] }[];
  get<T>(type: Type<T>): T;
  close(): Promise<void>;
}

/** Alarms are taken and never ring. */
export const silentDriver: TimerDriver = {
  name: 'silent',
  abilities: TRUSTED_ABILITIES,
  start: async () => undefined,
  stop: async () => undefined,
  arm: async () => undefined,
  disarm: async () => undefined,
  survey: async () => ({ generation: 'silent', alarms: async function* () {} }),
};

const SETTINGS = {
  LASTCALL_HOME: join(tmpdir(), 'lastcall-tests-have-no-home'),
  AUTH_JWT_SECRET: 'a-secret-for-tests-of-32-characters',
  SANDBOX_WEBHOOK_SECRET: 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
  MAX_OPEN_ORDERS: 'off',
  MAX_HELD_UNITS: 'off',
  MAX_HELD_SHARE: 'off',
  MAX_UNPAID_IN_A_ROW: 'off',
  // The same on a machine of any number of cores.
  DRAINERS: '2',
  // Nobody is there: parts that would speak to Redis or a provider are replaced.
  REDIS_URL: 'redis://127.0.0.1:1',
  SANDBOX_URL: 'http://127.0.0.1:1',
};

export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const given = options.databaseUrl ?? options.beside?.config.DATABASE_URL;
  const database = given === undefined ? await createMigratedDatabase() : undefined;
  const url = addressOf(given, database?.appUrl, options);
  const config = loadConfig({ ...SETTINGS, ...options.settings, DATABASE_URL: url });
  const ownerUrl = options.beside?.ownerUrl ?? database?.url ?? config.DATABASE_URL;
  return startWorld(config, ownerUrl, options, async () => database?.drop());
}

/** Where a test has not said otherwise, a machine that stands still for seconds ends no transaction in its middle. */
function addressOf(
  given: string | undefined,
  made: string | undefined,
  { isPatient = given === undefined, waitsForLocks = false }: WorldOptions,
): string | undefined {
  const url = given ?? made;
  if (url && waitsForLocks) return patient(url);
  return url && isPatient ? patient(url, ['idle_in_transaction_session_timeout']) : url;
}

async function startWorld(
  config: Config,
  ownerUrl: string,
  { lock = new NoopLock(), driver = silentDriver, ring = false, ...options }: WorldOptions,
  afterClose: () => Promise<void>,
): Promise<World> {
  const told: { name: string; args: unknown[] }[] = [];
  const provider = options.beside?.provider ?? options.providers?.[0] ?? new LedgerProvider();
  const stream = options.beside?.stream ?? new RecordedStream();
  const { hooksElsewhere = false } = options;
  const { stock, provides = [] } = options;
  const parts: OrdersModuleOptions['parts'] = { lock, driver, ...(stock && { stock }) };
  const what = { ring, isVisitor: !ring, hooksElsewhere, parts };
  const building = Test.createTestingModule({
    imports: [OrdersModule.forRoot(config, recordingTelemetry(told), what)],
    providers: [...provides],
  })
    .overrideProvider(EVENT_STREAM)
    .useValue(stream);
  if (!options.configuredProvider) {
    const providers = new PaymentProviders([...(options.providers ?? [provider])]);
    building.overrideProvider(PaymentProviders).useValue(providers);
  }
  const module = await building.compile();
  module.useLogger(false);
  await module.init();
  const dataSource = module.get<DataSource>(DATABASE);
  const owner = ownerUrl === config.DATABASE_URL ? itself(dataSource) : asOwner(ownerUrl);
  return {
    config,
    ownerUrl,
    owner,
    provider,
    stream,
    told,
    dataSource,
    drainDataSource: module.get<DataSource>(CLOSERS),
    timeouts: module.get(TimeoutService),
    rows: (sql, params) => owner.rows(sql, params),
    get: (type) => module.get(type, { strict: false }),
    close: async () => {
      await module.close();
      await owner.close();
      await afterClose();
    },
  };
}

/** Of a database that somebody else gave, its clock and its scheduled steps included. */
function itself(dataSource: DataSource): Owner {
  return {
    ...onDataSource(dataSource),
    dataSource: async () => dataSource,
    close: async () => undefined,
  };
}

const TELEMETRY_NAMES = [
  ...[
    'locked',
    'batchFailed',
    'deadlineHeld',
    'handlerFails',
    'handlerWorks',
    'handled',
    'timerStore',
    'swept',
    'sweptUp',
    'failed',
    'transitions',
  ],
  ...['closed', 'race', 'webhook', 'alert', 'sealed', 'providerCall', 'delivered'],
];

function recordingTelemetry(told: { name: string; args: unknown[] }[]): OrdersTelemetry {
  const reporters = TELEMETRY_NAMES.map((name) => [
    name,
    (...args: unknown[]) => void told.push({ name, args }),
  ]);
  return Object.fromEntries(reporters) as OrdersTelemetry;
}
