import type { Queryable } from '../../order/order-rows';
import { readWaits, WAITS } from '../waits';
import { type Check, expectation } from './check';

/** What may wait for a person and has no check of its own. */
const EXAMINED = {
  closing: 'orders that wait for their provider',
  payment_unended: 'open payments of orders that are paid or over',
  refund_unsent: 'refunds that were not sent',
  refund_pending: 'refunds under way',
  dispute: 'disputes',
  webhook_endpoint_off: 'webhook endpoints switched off',
  delivery_dead: 'webhook endpoints that missed events',
} as const;

/** Says of each kind of waiting whether something is older than its greatest age, and what ends it. */
export async function examineWaits(sql: Queryable): Promise<Check[]> {
  const waits = await readWaits(sql);
  return (Object.keys(EXAMINED) as (keyof typeof EXAMINED)[]).map((what) => {
    const { count, tooOld, oldestSeconds } = waits[what];
    const oldest = count === 0 ? '' : `, the oldest for ${Math.round(oldestSeconds / 60)} min`;
    const detail = `${count}, ${tooOld} for longer than they may${oldest}`;
    return expectation('flow', EXAMINED[what], tooOld === 0, detail, WAITS[what].exit);
  });
}
