import { assertOptions, having, type InjectedAll, isObject, orElse } from '@app/timeout';
import type { InjectionToken, ModuleMetadata } from '@nestjs/common';
import { type Config, hostConfig } from './config';
import type { EventSink } from './events/event-stream';
import { HOST_SETTINGS } from './host-settings';
import { hostTelemetry } from './order/host-telemetry';
import type { StockPort } from './order/stock-port';
import type { HostOrdersTelemetry } from './order/telemetry';
import type { PaymentProvider } from './providers/payment-provider';
import { PAYMENTS_OPTION, TELEMETRY_OPTION } from './providers/provider-options';
import type { OrdersSetUp } from './set-up';
import { z } from 'zod';

/** What a host tells the order module; everything but where Postgres is, and who is paid by, has a default. */
export interface OrdersHostOptions {
  readonly postgres: { readonly url: string };
  /** For alarms, locks and the stream of events; without it Postgres does what has to be done. */
  readonly redis?: string | undefined;
  /** The schema of our own tables; `lastcall` unless given. */
  readonly schema?: string | undefined;
  /** The host's providers, the first for new payments; each is measured, and guarded by a breaker. */
  readonly payments: readonly [PaymentProvider, ...PaymentProvider[]];
  /** As `10m`, `250ms` or `30d`; `ship` and `receive` may be `off`. */
  readonly windows?:
    | {
        readonly pay?: string | undefined;
        readonly grace?: string | undefined;
        readonly ship?: string | undefined;
        readonly receive?: string | undefined;
      }
    | undefined;
  /** Where order events go, instead of a stream in Redis. */
  readonly events?: EventSink | undefined;
  /** Stock of the host's own, which has the last word; `products` alone unless given. */
  readonly stock?: StockPort | undefined;
  /** Where to report: what is left out is not told; Nest's logger hears of what fails and of alerts unless given. */
  readonly telemetry?: HostOrdersTelemetry | undefined;
  /** Other settings by their names in .env.example, such as `MAX_OPEN_ORDERS`; what an option says is none of them. */
  readonly settings?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface OrdersModuleAsyncOptions<Tokens extends readonly InjectionToken[]> {
  /** `arm`: this process serves, and leaves ringing, sweeping and refunds to others. */
  readonly role?: 'ring' | 'arm' | undefined;
  readonly imports?: ModuleMetadata['imports'] | undefined;
  readonly inject?: readonly [...Tokens] | undefined;
  readonly useFactory: (
    ...args: InjectedAll<Tokens>
  ) => OrdersHostOptions | Promise<OrdersHostOptions>;
}

const text = z.string(orElse('a text'));

const ORDERS = {
  postgres: z.custom(
    (value) => isObject(value) && typeof value.url === 'string' && value.url !== '',
    orElse('{ url } of a Postgres'),
  ),
  redis: z.string(orElse('a URL')),
  schema: text,
  payments: PAYMENTS_OPTION,
  windows: z.strictObject(
    {
      pay: text.optional(),
      grace: text.optional(),
      ship: text.optional(),
      receive: text.optional(),
    },
    orElse('of durations as "10m": { pay, grace, ship, receive }'),
  ),
  events: having(['append'], 'an EventSink: append(events)'),
  stock: having(['reserve', 'apply'], 'a StockPort: reserve and apply'),
  telemetry: TELEMETRY_OPTION,
  settings: HOST_SETTINGS,
} satisfies Record<keyof OrdersHostOptions, z.ZodType>;

/** Nowhere: a host's settings are in its code, and no file of an installation is read. */
const NO_HOME = '/nowhere';

/** @throws {TypeError | ConfigError} naming what is wrong */
export function hostSetUp(options: OrdersHostOptions): OrdersSetUp {
  const config = hostOptionsAsConfig(options);
  const { postgres, payments, events, stock, telemetry } = options;
  return {
    // Who is switched on is who was given: work of others at a provider that is not is told of.
    config: { ...config, DATABASE_URL: postgres.url, PAYMENT_PROVIDERS: namesOf(payments) },
    telemetry: hostTelemetry(telemetry),
    ...(telemetry ? { tell: (what, fields) => telemetry.alert(what, fields) } : {}),
    parts: { payments, ...(events ? { events } : {}), ...(stock ? { stock } : {}) },
  };
}

/** What `migrate` takes, of a host's options: the tables are made by a step of the deployment. @throws {TypeError | ConfigError} naming what is wrong */
export function hostOptionsAsConfig(options: OrdersHostOptions): Config {
  assertRoleIsBeside(options);
  assertOptions('OrdersModule', ORDERS, ['postgres', 'payments'], options);
  const { postgres, redis, schema, windows = {}, settings = {} } = options;
  return hostConfig({
    ...settings,
    DATABASE_URL: postgres.url,
    REDIS_URL: redis,
    DATABASE_SCHEMA: schema,
    LASTCALL_HOME: NO_HOME,
    PAYMENT_WINDOW: windows.pay,
    PAYMENT_GRACE: windows.grace,
    SHIP_WITHIN: windows.ship,
    RECEIVE_WITHIN: windows.receive,
  });
}

/** TypeScript takes what a factory returns with more than is asked for. */
function assertRoleIsBeside(options: object | undefined): void {
  if ((options as { readonly role?: unknown } | undefined)?.role === undefined) return;
  throw new TypeError(
    'OrdersModule: `role` stands beside `useFactory`, in forRootAsync({ role, useFactory }), and is none of what it returns',
  );
}

const namesOf = ([
  first,
  ...others
]: OrdersHostOptions['payments']): Config['PAYMENT_PROVIDERS'] => [
  first.name,
  ...others.map(({ name }) => name),
];
