import type { Lock, TimerDriver } from '@app/timeout';
import { type Config, REDIS_PREFIX } from './config';
import type { EventSink } from './events/event-stream';
import type { StockPort } from './order/stock-port';
import type { OrdersTelemetry, TellOfAlert } from './order/telemetry';
import type { PaymentProvider } from './providers/payment-provider';

/** Parts to use instead of the configured ones. */
export interface OrdersParts {
  readonly lock?: Lock;
  readonly driver?: TimerDriver;
  /** Keys in Redis begin with this, where several installations share one. */
  readonly redisPrefix?: string;
  /** Providers of a host's own, the first for new payments; they are guarded as ours are. */
  readonly payments?: readonly [PaymentProvider, ...PaymentProvider[]];
  readonly events?: EventSink;
  readonly stock?: StockPort;
}

/** What the order module is made from; for its own factories only, as there are secrets in it. */
export interface OrdersSetUp {
  readonly config: Config;
  readonly telemetry: OrdersTelemetry;
  /** Tells of an alert that is given again where it throws or rejects; default: that of `telemetry`. */
  readonly tell?: TellOfAlert;
  readonly parts: OrdersParts;
}

export const SET_UP = Symbol('LastcallSetUp');
/** True for a command: it comes and goes, and is no process of the installation. */
export const IS_VISITOR = Symbol('IsVisitor');

/** What keys in Redis begin with. */
export const prefixOf = ({ parts }: OrdersSetUp): string => parts.redisPrefix ?? REDIS_PREFIX;

/** Tells of errors that reach no caller. */
export const toldAs =
  (what: string, { telemetry }: OrdersSetUp) =>
  (error: Error): void =>
    telemetry.failed(what, error);
