import { uuidv7 } from '../../libs/orders/src/order/uuid';
import type { World } from './world';

interface Wanted {
  readonly id?: string;
  readonly provider?: string;
  readonly status?: 'open' | 'closed';
}

/** One more payment of the order, of all that it costs; `pay-` and its id at the provider. Answers with its id. */
export async function anotherPayment(
  world: World,
  orderId: string,
  { id = uuidv7(), provider = 'sandbox', status = 'closed' }: Wanted = {},
): Promise<string> {
  await world.rows(
    `INSERT INTO payments (id, order_id, provider, provider_payment_id, status, amount, currency, expires_at)
     SELECT $2::uuid, id, $3, 'pay-' || $2, $4, amount, currency, now() FROM orders WHERE id = $1`,
    [orderId, id, provider, status],
  );
  return id;
}
