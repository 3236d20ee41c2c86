import {
  Deadlines1763600000000,
  NODE_POSTGRES,
  PEER_LIMITS,
  sessionAddress,
  startUpOptions,
  UNDERSTOOD,
  Workers1763600010000,
} from '@app/timeout';
import {
  NearAndFarDeadlines1763700210000,
  SweepShards1763930020000,
  TimeoutSubjects1763701500000,
  TimeoutBrakes1763600020000,
  timerDriverKinds,
} from '@app/timeout';
import { DataSource, type DataSourceOptions } from 'typeorm';
import type { Config } from './config';
import { CONNECTING } from './connect-limit';
import { ApplicationRole1763600030000 } from './migrations/1763600030000-application-role';
import { EraseWhatOperatorsWrote1764060000000 } from './migrations/1764060000000-erase-what-operators-wrote';
import { ExtensionKeys1764060001000 } from './migrations/1764060001000-extension-keys';
import { Errands1764050000000 } from './migrations/1764050000000-errands';
import { EventNumbers1763701110000 } from './migrations/1763701110000-event-numbers';
import { PageSessions1763910000000 } from './migrations/1763910000000-page-sessions';
import { ExtensionsOfOrders1763920000000 } from './migrations/1763920000000-extensions-of-orders';
import { HistoryReaches1763930000000 } from './migrations/1763930000000-history-reaches';
import { FoldingFromAMark1763935000000 } from './migrations/1763935000000-folding-from-a-mark';
import { HistoryDigest1763945000000 } from './migrations/1763945000000-history-digest';
import { FoldByIds1763946000000 } from './migrations/1763946000000-fold-by-ids';
import { FoldBySku1763980000000 } from './migrations/1763980000000-fold-by-sku';
import { HistoryReachesBySnapshot1763990000000 } from './migrations/1763990000000-history-reaches-by-snapshot';
import { OrdersHavePayments1764080000000 } from './migrations/1764080000000-orders-have-payments';
import { PaymentsTellOrders1764080001000 } from './migrations/1764080001000-payments-tell-orders';
import { UnpaidOrdersHavePayments1764080002000 } from './migrations/1764080002000-unpaid-orders-have-payments';
import { PaymentsWithRoom1764070000000 } from './migrations/1764070000000-payments-with-room';
import { WebhooksGivenUp1764000000000 } from './migrations/1764000000000-webhooks-given-up';
import { EndsOfHistoryByIndex1764010000000 } from './migrations/1764010000000-ends-of-history-by-index';
import { FoldByPlaceAndId1764030000000 } from './migrations/1764030000000-fold-by-place-and-id';
import { RetentionByIndex1764041000000 } from './migrations/1764041000000-retention-by-index';
import { ReturnedMoneyInParts1764020000000 } from './migrations/1764020000000-returned-money-in-parts';
import { RefundKeys1763950000000 } from './migrations/1763950000000-refund-keys';
import { RewoundStock1763970000000 } from './migrations/1763970000000-rewound-stock';
import { EventOrder1763700110000 } from './migrations/1763700110000-event-order';
import { EraseCustomers1763900014000 } from './migrations/1763900014000-erase-customers';
import { HistorySeals1763900013000 } from './migrations/1763900013000-history-seals';
import { MerchantsView1763800100000 } from './migrations/1763800100000-merchants-view';
import { MoneyAfterPaid1763700120000 } from './migrations/1763700120000-money-after-paid';
import { PaymentsAtProviders1763700260000 } from './migrations/1763700260000-payments-at-providers';
import { MoneyMovements1763700100000 } from './migrations/1763700100000-money-movements';
import { Orders1763600001000 } from './migrations/1763600001000-orders';
import { OperatorActions1763600011000 } from './migrations/1763600011000-operator-actions';
import { PaymentsOnHold1763600012000 } from './migrations/1763600012000-payments-on-hold';
import { PrivateFunctions1763700260000 } from './migrations/1763700260000-private-functions';
import { ReturnUrls1763700420000 } from './migrations/1763700420000-return-urls';
import { RetentionByKey1763700220000 } from './migrations/1763700220000-retention-by-key';
import { Retention1763600040000 } from './migrations/1763600040000-retention';
import { Processes1763702200000 } from './migrations/1763702200000-processes';
import { WebhookEndpoints1763800300000 } from './migrations/1763800300000-webhook-endpoints';
import { ProductChanges1763800200000 } from './migrations/1763800200000-product-changes';
import { StockMovements1763700200000 } from './migrations/1763700200000-stock-movements';
import { NightlyRuns1763701150000 } from './migrations/1763701150000-nightly-runs';
import { OrderReturns1763701140000 } from './migrations/1763701140000-order-returns';
import { ReconcileRuns1763701130000 } from './migrations/1763701130000-reconcile-runs';
import { SigningKey1763700410000 } from './migrations/1763700410000-signing-key';
import { Waits1763701120000 } from './migrations/1763701120000-waits';
import { UnpaidOrders1763700250000 } from './migrations/1763700250000-unpaid-orders';

/** Oldest first; TypeORM runs those that are missing. */
const MIGRATIONS = [
  Deadlines1763600000000,
  TimeoutBrakes1763600020000,
  ApplicationRole1763600030000,
  Orders1763600001000,
  Workers1763600010000,
  OperatorActions1763600011000,
  PaymentsOnHold1763600012000,
  Retention1763600040000,
  MoneyMovements1763700100000,
  EventOrder1763700110000,
  MoneyAfterPaid1763700120000,
  StockMovements1763700200000,
  NearAndFarDeadlines1763700210000,
  TimeoutSubjects1763701500000,
  SweepShards1763930020000,
  RetentionByKey1763700220000,
  UnpaidOrders1763700250000,
  PrivateFunctions1763700260000,
  PaymentsAtProviders1763700260000,
  SigningKey1763700410000,
  ReturnUrls1763700420000,
  EventNumbers1763701110000,
  PageSessions1763910000000,
  ExtensionsOfOrders1763920000000,
  HistoryReaches1763930000000,
  FoldingFromAMark1763935000000,
  HistoryDigest1763945000000,
  FoldByIds1763946000000,
  MerchantsView1763800100000,
  ProductChanges1763800200000,
  HistorySeals1763900013000,
  EraseCustomers1763900014000,
  WebhookEndpoints1763800300000,
  ...[...timerDriverKinds().values()].flatMap(({ migrations = [] }) => migrations),
  Processes1763702200000,
  Waits1763701120000,
  ReconcileRuns1763701130000,
  OrderReturns1763701140000,
  NightlyRuns1763701150000,
  RefundKeys1763950000000,
  RewoundStock1763970000000,
  FoldBySku1763980000000,
  HistoryReachesBySnapshot1763990000000,
  WebhooksGivenUp1764000000000,
  EndsOfHistoryByIndex1764010000000,
  ReturnedMoneyInParts1764020000000,
  FoldByPlaceAndId1764030000000,
  RetentionByIndex1764041000000,
  Errands1764050000000,
  EraseWhatOperatorsWrote1764060000000,
  ExtensionKeys1764060001000,
  PaymentsWithRoom1764070000000,
  OrdersHavePayments1764080000000,
  PaymentsTellOrders1764080001000,
  UnpaidOrdersHavePayments1764080002000,
];

/** Injection token of the data source of everything that customers wait for. */
export const DATABASE = Symbol('LastcallDatabase');
/**
 * Injection token of the data source of closing, and of what must go on when customers have taken
 * all connections.
 */
export const CLOSERS = Symbol('LastcallClosers');

/** Injection token of the data source of what nobody waits for: relay, seals, invariants, retention. */
export const BACKGROUND = Symbol('LastcallBackground');

/** Where our tables are: a schema of our own, beside whatever else the database holds. */
export const DEFAULT_SCHEMA = 'lastcall';
/** Where they were before they had one, and the neighbours' are. */
export const OLD_SCHEMA = 'public';
/** Which migrations were run; TypeORM's usual name is the host's. */
export const MIGRATIONS_TABLE = 'lastcall_migrations';

/** Which database, and where in it. */
export type DatabaseAddress = Pick<Config, 'DATABASE_URL'> &
  Partial<Pick<Config, 'DATABASE_SCHEMA'>>;

export interface PoolOptions {
  readonly url: string;
  /** Default: `lastcall`. */
  readonly schema?: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  readonly connections: number;
  /** False for migrations: an index takes as long as it takes. */
  readonly isLimited?: boolean;
  /** True where deadlines are claimed: in the order of an index, by however wrong an estimate. */
  readonly claims?: boolean;
}

/** No statement of ours takes longer. */
const STATEMENT_LIMIT_MS = 15_000;
/** A database that neither answers nor hangs up is given up a little later than it would itself. */
const ANSWER_LIMIT_MS = STATEMENT_LIMIT_MS + 1_000;
/** A request that waits for a row tries a few times, and still has to answer within seconds. */
const LOCK_LIMIT_MS = 1_000;
/**
 * A process that stands still in a transaction holds products and a drainer's turn: others wait so
 * long for it at most. No transaction of ours waits for anything but Postgres, and for Redis briefly.
 */
const IDLE_TRANSACTION_LIMIT_MS = 3_000;

/** What a session waits for at the most, in milliseconds. */
export const LIMITS = {
  statement_timeout: STATEMENT_LIMIT_MS,
  lock_timeout: LOCK_LIMIT_MS,
  idle_in_transaction_session_timeout: IDLE_TRANSACTION_LIMIT_MS,
};

/** What an address may say otherwise. */
const OURS = {
  /** What TimeoutService and the guard rely on, whatever the database's own default is. */
  default_transaction_isolation: 'read committed',
  /**
   * Nothing that a connection of ours runs often wants to read a whole table; and a plan that does,
   * made while the table was still empty, would be kept until somebody analyzes it.
   */
  enable_seqscan: 'off',
  /**
   * Before 18, what must be read as a whole all the same counts as very expensive by that: Postgres would
   * compile such a statement each time, though it is of one row.
   */
  jit: 'off',
};
/** What every session of ours has beside its limits and its path. */
export const SESSION = { ...OURS, ...UNDERSTOOD };

/** A bitmap reads and sorts all that is due for each batch of it (docs/adr/0043). */
const CLAIMING = { enable_bitmapscan: 'off' };

/**
 * Our tables are found by the path alone, so that a host's of the same name are never meant. Who is
 * told to stay in `public` finds them there still when they have been moved in the meantime.
 */
const searchPath = (schema: string): string =>
  schema === OLD_SCHEMA ? `${OLD_SCHEMA},${DEFAULT_SCHEMA}` : schema;

export function dataSourceOptions({
  url: address,
  name,
  connections,
  schema = DEFAULT_SCHEMA,
  isLimited = true,
  claims = false,
}: PoolOptions): DataSourceOptions {
  const { url, options: said = '' } = sessionAddress(address);
  const settings = {
    ...OURS,
    ...PEER_LIMITS,
    ...(claims ? CLAIMING : {}),
    ...(isLimited ? LIMITS : {}),
    search_path: searchPath(schema),
  };
  return {
    type: 'postgres',
    ...NODE_POSTGRES,
    url,
    migrations: MIGRATIONS,
    migrationsTableName: MIGRATIONS_TABLE,
    migrationsTransactionMode: 'each',
    poolSize: connections,
    connectTimeoutMS: CONNECTING.limitMs,
    applicationName: name,
    extra: {
      ...(isLimited ? { query_timeout: ANSWER_LIMIT_MS } : {}),
      // A statement that follows another need not wait for its answer, as with savepoints.
      pipeline: true,
      keepAlive: true,
      // What the address says itself (`?options=-c ...`) wins, but for how we understand each other.
      options: `${startUpOptions(settings)} ${said} ${startUpOptions(UNDERSTOOD)}`,
    },
  };
}

/** Connections of their own, for work beside the application: migrations, seeding, benchmarks. */
export function createDataSource(
  { DATABASE_URL: url, DATABASE_SCHEMA: schema = DEFAULT_SCHEMA }: DatabaseAddress,
  name: string,
  connections = 2,
): DataSource {
  return new DataSource(dataSourceOptions({ url, schema, name, connections }));
}
