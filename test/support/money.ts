import { randomUUID } from 'node:crypto';
import { runInvariants } from '../../libs/orders/src/invariants/run-invariants';
import { readOrders } from '../../libs/orders/src/order/order-rows';
import { ReceiveWebhook } from '../../libs/orders/src/payments/receive-webhook';
import { insertOrders, type InsertedOrder } from './insert-orders';
import { post, type Posted } from './ledger-provider';
import type { World } from './world';

/** An order whose payment is open at the provider. */
export interface Placed extends InsertedOrder {
  readonly paymentId: string;
}

/** Of an order's policy, where it is not as everybody's. */
interface Waits {
  readonly shipWithinMs?: number;
  readonly receiveWithinMs?: number;
  readonly latePayment?: 'refund' | 'revive' | 'hold';
}

/** Pays orders of a world and tells it what happens to their money, as the provider would. */
export function moneyOf(world: () => World) {
  const placed = async (wanted: Waits = {}): Promise<Placed> => {
    const [order] = await insertOrders(world(), {
      ...{ count: 1, closesInMs: 60_000, payment: 'open', quantity: 2, ...wanted },
    });
    const { paymentId, amount } = order as Placed;
    world().provider.open({ paymentId, amount, currency: 'EUR' });
    return order as Placed;
  };
  const receive = ({ body, headers }: Posted) =>
    world().get(ReceiveWebhook).receive('sandbox', body, headers);
  /** A notice about the order's payment. */
  const tell = (
    { paymentId }: Placed,
    type: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<void> =>
    receive(
      post({
        ...{ eventId: randomUUID(), type, paymentId, providerPaymentId: `pay-${paymentId}` },
        ...{ idempotencyKey: null, why: null, ...data },
      }),
    );
  return {
    placed,
    receive,
    tell,
    paid: async (wanted: Waits = {}): Promise<Placed> => {
      const order = await placed(wanted);
      await receive(world().provider.pay(order.paymentId, new Date()) as Posted);
      return order;
    },
    refunded: (order: Placed, amount: number, providerRefundId = `re-${randomUUID()}`) =>
      tell(order, 'refund.succeeded', { providerRefundId, amount }),
    disputed: (order: Placed, what: 'opened' | 'won' | 'lost', disputeId = 'dp', amount = 1_000) =>
      tell(order, `dispute.${what}`, { disputeId: `${disputeId}-${order.id}`, amount }),
    read: async ({ id }: Placed) => {
      const view = (await readOrders(world(), [id])).get(id);
      return view as NonNullable<typeof view>;
    },
    refundsOf: ({ paymentId }: Placed) =>
      world().rows<{ id: string; reason: string; amount: string; status: string; attempt: number }>(
        'SELECT id, reason, amount, status, attempt FROM refunds WHERE payment_id = $1 ORDER BY id',
        [paymentId],
      ),
  };
}

/** The promises that do not hold; nothing relays in a world. */
export async function brokenInvariants(world: World): Promise<string[]> {
  const results = await runInvariants(world, { limitMs: 3_600_000, newest: 'all' });
  const broken = results.filter(({ id, violations }) => id !== 12 && violations > 0);
  return broken.map(({ id, name, violations }) => `${id} ${name} ${violations}`);
}
