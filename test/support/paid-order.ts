import { randomUUID } from 'node:crypto';
import {
  type Accountable,
  ForceCloseOrder,
  type OrderView,
  ReceiveWebhook,
  runInvariants,
} from '@app/orders';
import { ANSWERING } from '../../libs/orders/src/closing/answer-soon';
import { type InsertedOrder, insertOrders } from './insert-orders';
import { post, type Posted } from './ledger-provider';
import { until } from './until';
import type { World } from './world';

// A provider that does not answer says so at once; whoever is merely slow is waited for.
ANSWERING.limitMs = 30_000;

/** An order with one payment, open at the provider. */
export interface Payable extends InsertedOrder {
  readonly paymentId: string;
}

export interface PayableOrder {
  readonly customerId?: string;
  readonly shipWithinMs?: number;
  readonly closesInMs?: number;
  readonly latePayment?: 'refund' | 'revive' | 'hold';
}

/** Two pieces, 10.00 EUR. */
export async function openOrder(world: World, wanted: PayableOrder = {}): Promise<Payable> {
  const [order] = await insertOrders(world, {
    ...{ count: 1, closesInMs: 60_000, payment: 'open', quantity: 2, ...wanted },
  });
  const { paymentId, amount } = order as Payable;
  world.provider.open({ paymentId, amount, currency: 'EUR' });
  return order as Payable;
}

export const receive = (world: World, { body, headers }: Posted): Promise<void> =>
  world.get(ReceiveWebhook).receive('sandbox', body, headers);

export async function paidOrder(world: World, wanted: PayableOrder = {}): Promise<Payable> {
  const order = await openOrder(world, wanted);
  await receive(world, world.provider.pay(order.paymentId, new Date()) as Posted);
  return order;
}

/** Its buyer has paid, and the provider's notice of that is still on its way, or lost. */
export async function paidUnheard(world: World): Promise<Payable> {
  const order = await openOrder(world);
  world.provider.pay(order.paymentId, new Date());
  return order;
}

/** As above, and its order was closed as unpaid meanwhile; `paid` is the notice. */
export async function closedUnheard(
  world: World,
  wanted: PayableOrder,
): Promise<{ readonly order: Payable; readonly paid: Posted }> {
  const order = await openOrder(world, wanted);
  const paid = world.provider.pay(order.paymentId, new Date()) as Posted;
  await world.rows(
    `UPDATE orders SET status = 'closed', close_reason = 'payment_timeout', closed_at = now()
      WHERE id = $1`,
    [order.id],
  );
  await world.rows(`UPDATE payments SET status = 'closed' WHERE id = $1`, [order.paymentId]);
  return { order, paid };
}

/** Closes an order whose provider does not answer: it stays behind the fence. */
export const closeUnanswered = (
  world: World,
  orderId: string,
  by: Accountable,
): Promise<OrderView> =>
  unanswered(world, () => world.get(ForceCloseOrder).forceClose(orderId, by));

/** What somebody hears who closes an order whose provider does not answer. */
export async function unanswered<T>({ provider }: World, closing: () => Promise<T>): Promise<T> {
  const asked: string[] = [];
  provider.around = async (call) => void asked.push(call);
  provider.unreachable = 'before';
  const heard = await closing();
  // That waits for the provider for a moment only, which must not be asked when it answers again.
  await until('the provider has been asked', () => asked.length > 0);
  provider.unreachable = undefined;
  provider.around = async () => undefined;
  return heard;
}

/** A notice of the provider about the order's payment. */
export const tell = (
  world: World,
  { paymentId }: Payable,
  type: string,
  data: Readonly<Record<string, unknown>>,
): Promise<void> =>
  receive(
    world,
    post({
      ...{ eventId: randomUUID(), type, paymentId, providerPaymentId: `pay-${paymentId}` },
      ...{ idempotencyKey: null, why: null, ...data },
    }),
  );

/** The invariants that are broken, but for the relay's: nothing relays in a world. */
export async function brokenInvariants(world: World): Promise<string[]> {
  const results = await runInvariants(world, { limitMs: 3_600_000, newest: 'all' });
  return results
    .filter(({ id, violations }) => id !== 12 && violations > 0)
    .map(({ id, name, violations }) => `${id} ${name}: ${violations}`);
}
