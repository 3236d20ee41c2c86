import type { OrderStatus } from '../order/order.lifecycle';

/** What a shop's own system may ask to hear of. */
export const EVENT_TYPES = [
  'order.placed',
  'order.extended',
  'order.closing',
  'order.paid',
  'order.closed',
  'order.shipment_due',
  'order.shipped',
  'order.completed',
  'order.canceled',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
/** All of them, those to come included. */
export const ALL_EVENTS = '*';
/** Sent on request, to see whether an endpoint works. */
const TEST_TYPE = 'webhook.test';

/** A change of an order, as webhooks tell of it. */
export interface DeliveredEvent {
  readonly orderId: string;
  /** Goes up with every change of the order: what is older than what is known is no news. */
  readonly version: number;
  readonly type: string;
  readonly from: OrderStatus | null;
  readonly to: OrderStatus;
  readonly by: string;
  readonly actor: string | null;
  readonly reason: string | null;
  readonly at: Date;
  readonly customerId: string;
  /** Minor units of `currency`. */
  readonly amount: number;
  readonly currency: string;
}

/** The body of a webhook (docs/events.md), the same bytes at each attempt. */
export function bodyOf({ type, at, ...data }: DeliveredEvent): string {
  return JSON.stringify({ type, timestamp: at.toISOString(), data });
}

export function testBody(endpointId: string, at: Date): string {
  return JSON.stringify({ type: TEST_TYPE, timestamp: at.toISOString(), data: { endpointId } });
}
