import { insertOrders } from '../../../../test/support/insert-orders';
import type { LedgerEntry } from '../../../../test/support/ledger-entry';
import type { Posted } from '../../../../test/support/ledger-provider';
import { type Payable, paidOrder, receive } from '../../../../test/support/paid-order';
import { Plans } from '../../../../test/support/plans';
import { openWorld, type World } from '../../../../test/support/world';
import { ExtendWindow } from '../closing/extend-window';
import { ReadOrder } from '../closing/read-order';
import { ShipOrder } from '../fulfilment/ship-order';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { CreateRefund } from '../ops/create-refund';

/** Settled ones: a shop's first weeks. */
const ORDERS = 20_000;
const MOST_IN_VAIN = 50;
const MIA = { actor: 'mia', reason: 'asked for' };

let world: World;
let plans: Plans;
beforeAll(async () => {
  world = await openWorld();
  await insertOrders(world, { count: ORDERS, closesInMs: 3_600_000, payment: 'open' });
  for (const statement of [
    `UPDATE orders SET status = 'completed', paid_at = now(), shipped_at = now(), completed_at = now()`,
    `UPDATE payments SET status = 'succeeded', captured_amount = amount, captured_currency = currency,
            paid_at = now(), recorded_at = now()`,
    `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
     SELECT order_id, id, 'captured', provider_payment_id, amount, currency, 'webhook' FROM payments`,
    `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, finished_at)
     SELECT gen_random_uuid(), id, 'operator', 1, currency, 'succeeded', now() FROM payments`,
    `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
     SELECT p.order_id, p.id, 'refund_' || what, r.id, 1, 'EUR', 'answer'
       FROM refunds r JOIN payments p ON p.id = r.payment_id,
            unnest('{requested,succeeded}'::text[]) AS what`,
    `DELETE FROM deadlines`,
    'ANALYZE',
  ]) {
    await world.rows(statement);
  }
  plans = await Plans.of(world);
}, 120_000);
afterAll(() => world?.close());

const sweep = () => world.timeouts.runSweep();
const post = (notice: Posted | undefined) => receive(world, notice as Posted);
const entryOf = ({ paymentId }: Payable): LedgerEntry =>
  world.provider.entries.get(`pay-${paymentId}`) as LedgerEntry;
const refundsOf = ({ paymentId }: Payable) =>
  world.rows('SELECT status FROM refunds WHERE payment_id = $1', [paymentId]);
const statusOf = async ({ id }: Payable): Promise<string> =>
  (await world.get(ReadOrder).readOfAnyCustomer(id)).status;

/** What is done to the money of one order, beside that of all others; answers with what became of it. */
const STEPS: readonly (readonly [what: string, step: () => Promise<unknown>, became: unknown])[] = [
  [
    'late money goes back',
    async () => {
      const [late] = await insertOrders(world, { count: 1, closesInMs: -1_000, payment: 'failed' });
      const { paymentId, amount } = late as Payable;
      await sweep();
      world.provider.open({ paymentId, amount, currency: 'EUR' });
      await post(world.provider.pay(paymentId, new Date()));
      await sweep();
      return refundsOf(late as Payable);
    },
    [{ status: 'succeeded' }],
  ],
  [
    'an order that nobody ships is canceled and given back',
    async () => {
      const order = await paidOrder(world, { shipWithinMs: 0 });
      await sweep();
      await sweep();
      return [await statusOf(order), await refundsOf(order)];
    },
    ['canceled', [{ status: 'succeeded' }]],
  ],
  [
    'an operator cancels a paid order',
    async () => {
      const order = await paidOrder(world);
      await world.get(CancelOrderByOperator).cancel(order.id, MIA);
      await sweep();
      return [await statusOf(order), await refundsOf(order)];
    },
    ['canceled', [{ status: 'succeeded' }]],
  ],
  [
    'a part goes back, the rest is shipped',
    async () => {
      const order = await paidOrder(world);
      await world.get(CreateRefund).create(order.id, { amount: 100, ...MIA });
      await sweep();
      await world.get(ShipOrder).ship(order.id, 'mia');
      return [await statusOf(order), await refundsOf(order)];
    },
    ['shipped', [{ status: 'succeeded' }]],
  ],
  [
    'somebody refunds at the provider',
    async () => {
      const order = await paidOrder(world);
      await post(world.provider.refundedByHand(entryOf(order), 300));
      return statusOf(order);
    },
    'paid',
  ],
  [
    'a buyer disputes, and the bank decides for the buyer',
    async () => {
      const order = await paidOrder(world);
      await post(world.provider.disputed(entryOf(order)));
      const [dispute] = entryOf(order).disputes;
      await post(world.provider.decided(entryOf(order), dispute as never, 'lost'));
      return statusOf(order);
    },
    'canceled',
  ],
  [
    'an order gets more time',
    async () => {
      const [order] = await insertOrders(world, {
        count: 1,
        closesInMs: 600_000,
        payment: 'failed',
      });
      await world
        .get(ExtendWindow)
        .extend((order as Payable).id, { by: 'operator', byMs: 60_000, ...MIA });
      return statusOf(order as Payable);
    },
    'pending_payment',
  ],
];

describe(`beside ${ORDERS} payments of others`, () => {
  it.each(STEPS)('%s, without looking at theirs', async (_, step, became) => {
    plans.forget();
    expect(await step()).toEqual(became);
    expect(plans.waste().filter(({ inVain }) => inVain > MOST_IN_VAIN)).toEqual([]);
  });
});
