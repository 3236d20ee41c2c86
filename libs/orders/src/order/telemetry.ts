import { silentTelemetry, type TimeoutTelemetry } from '@app/timeout';
import type { By, OrderStatus } from './order.lifecycle';

export type WebhookResult =
  | 'processed'
  | 'duplicate'
  | 'held'
  | 'deferred'
  | 'bad_signature'
  | 'stale_timestamp'
  | 'malformed'
  | 'failed';

/** Where the order module reports what it does; apps/api wires it to Prometheus and the log. */
export interface OrdersTelemetry extends TimeoutTelemetry {
  transitions(from: OrderStatus | 'none', to: OrderStatus, by: By, count: number): void;
  /** An order was closed `lagMs` after its deadline (negative when a customer or operator closed it early). */
  closed(by: By, lagMs: number): void;
  /** So many orders at once, all as late as each other; without this `closed` is called for each. */
  closedMany?(by: By, lagMs: number, count: number): void;
  /** A payment and a close met; who won. */
  race(winner: 'payment' | 'close'): void;
  webhook(result: WebhookResult): void;
  /** Something needs an operator's eye: mismatched money, a refund that cannot be made. */
  alert(what: string, fields: Readonly<Record<string, unknown>>): void;
  /** A part of the history is sealed: who keeps the log can tell by it if seals are made anew. */
  sealed(history: string, number: number, digest: string): void;
  /** Webhooks to the shop's own systems: how their attempts ended; `dead` is tried no more. */
  delivered(result: 'delivered' | 'failed' | 'dead', count: number): void;
  /** A call to a provider, how it ended and how long it took. */
  providerCall(call: {
    readonly provider: string;
    readonly operation: string;
    readonly outcome: string;
    readonly tookMs: number;
  }): void;
}

/** {@link OrdersTelemetry.alert} as whoever has to know whether it was given calls it. */
export type TellOfAlert = (what: string, fields: Readonly<Record<string, unknown>>) => unknown;

/** A host's: it may leave out what it does not want to hear. */
export type HostOrdersTelemetry = Pick<OrdersTelemetry, 'failed' | 'alert'> &
  Partial<OrdersTelemetry>;

export const silentOrdersTelemetry: OrdersTelemetry = {
  ...silentTelemetry,
  transitions: () => undefined,
  closed: () => undefined,
  race: () => undefined,
  webhook: () => undefined,
  alert: () => undefined,
  sealed: () => undefined,
  delivered: () => undefined,
  providerCall: () => undefined,
};

export const ORDERS_TELEMETRY = Symbol('OrdersTelemetry');
export const TELL_OF_ALERT = Symbol('TellOfAlert');
