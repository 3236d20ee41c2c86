import {
  CancelOrder,
  ConfirmReceipt,
  ExtendWindow,
  ForceCloseOrder,
  LastcallError,
  PlaceOrder,
  ReadOrder,
  RelayEvents,
  ShipOrder,
  StartPayment,
} from '@app/orders';
import { DeliverWebhooks } from '../../libs/orders/src/deliveries/deliver-webhooks';
import { FanOutEvents } from '../../libs/orders/src/deliveries/fan-out';
import { CreateRefund } from '../../libs/orders/src/ops/create-refund';
import { actAtDesk } from './desk/desk';
import type { Endpoints } from './endpoints/endpoints';
import { FoldStock } from '../../libs/orders/src/stock/fold-stock';
import { TEST_SKU } from '../support/insert-orders';
import type { World } from '../support/world';
import type { FakeTime } from './fake-time';
import type { Outside, Sent } from './outside';
import type { Action, MoneyAction } from './program';
import type { LockStore } from './shared-lock';
import { PROVIDERS } from './stage';

const CUSTOMER = 'ann';
const OPERATOR = 'olga';
const EXTENSION_MS = 5_000;
/** Of what an order costs, in minor units. */
const PART = 300;
/** What a provider says of a refund that it will never make. */
export const REFUSED = {
  state: 'FAILED',
  providerRefundId: null,
  why: 'closed',
  isForGood: true,
} as const;

export interface Surroundings {
  readonly outside: Outside;
  readonly endpoints: Endpoints;
  readonly time: FakeTime;
  readonly locks: LockStore;
  readonly world: (process: number) => World;
  readonly isDead: () => boolean;
  readonly crash: (process: number) => Promise<void>;
  readonly linger: () => Promise<void>;
}

/** Does one action; refusals are answers, everything else that is thrown is unexpected. */
export async function act(action: Action, around: Surroundings): Promise<void> {
  try {
    await perform(action, around);
  } catch (error) {
    const isAnswer = error instanceof LastcallError && error.code !== 'internal_error';
    if (!isAnswer && !around.isDead()) around.outside.unexpected.push(error);
  }
}

async function perform(action: Action, around: Surroundings): Promise<void> {
  if ('order' in action) return performOnOrder(action, around);
  if ('endpoint' in action) {
    return around.endpoints.act(action.do, action.endpoint, around.world(action.process));
  }
  const { outside, time, locks } = around;
  switch (action.do) {
    case 'advance':
      return time.pass(action.ms);
    case 'crash':
      return around.crash(action.process);
    case 'lose locks':
      return locks.lose();
    case 'lose redis':
      locks.isAway = true;
      return;
    case 'linger':
      return around.linger();
    case 'refuse refunds':
      for (const provider of outside.providers) provider.refundRefusal = REFUSED;
      return;
    case 'ring':
      return around.world(action.process).timeouts.drainAll('timer');
    case 'sweep':
      await around.world(action.process).timeouts.runSweep();
      return;
    case 'relay':
      await around.world(action.process).get(RelayEvents).runOnce();
      return;
    case 'fan out':
      await around.world(action.process).get(FanOutEvents).runOnce();
      return;
    case 'deliver':
      await around.world(action.process).get(DeliverWebhooks).runOnce();
      return;
    case 'fold':
      await around.world(action.process).get(FoldStock).runOnce();
      return;
    case 'place': {
      const placing = around.world(action.process).get(PlaceOrder);
      const { order } = await placing.place({
        customerId: CUSTOMER,
        idempotencyKey: `key ${action.key}`,
        items: [{ sku: TEST_SKU, quantity: action.quantity }],
      });
      outside.placed.push({ key: action.key, orderId: order.id });
      return;
    }
  }
}

type OrderAction = Extract<Action, { readonly order: number }>;

async function performOnOrder(
  action: OrderAction,
  { outside, time, world: worldOf }: Surroundings,
): Promise<void> {
  const world = worldOf(action.process);
  const orderId = outside.orderIds[action.order] as string;
  const paymentId = outside.paymentIds[action.order]?.at(-1) ?? '';
  const now = new Date(time.nowMs);
  switch (action.do) {
    case 'pay':
      return outside.deliver(world, outside.pay(paymentId, now));
    case 'pay late': {
      // The other attempt, where there are two.
      const first = outside.paymentIds[action.order]?.[0] ?? '';
      return outside.deliver(world, outside.pay(first, now, { late: true }));
    }
    case 'pay wrongly':
      return outside.deliver(world, outside.pay(paymentId, now, { amount: 1 }));
    case 'notice again':
      return outside.deliver(world, outside.sent.at(-1) ?? again(outside, paymentId));
    case 'late fail': {
      const [provider, entry] = [outside.at(paymentId), outside.entry(paymentId)];
      return outside.deliver(
        world,
        provider && outside.send(provider, entry && provider.failed(entry)),
      );
    }
    case 'start payment':
    case 'start payment elsewhere': {
      const provider = action.do === 'start payment' ? undefined : PROVIDERS[1];
      const command = { orderId, customerId: CUSTOMER, provider };
      const { payment } = await world.get(StartPayment).start(command);
      const ids = outside.paymentIds[action.order];
      if (ids && !ids.includes(payment.id)) ids.push(payment.id);
      return;
    }
    case 'read':
      await world.get(ReadOrder).read(orderId, CUSTOMER);
      return;
    case 'cancel': {
      const { status } = await world.get(CancelOrder).cancel(orderId, CUSTOMER);
      if (status === 'closed') outside.toldClosed.add(orderId);
      return;
    }
    case 'force-close':
      await world.get(ForceCloseOrder).forceClose(orderId, { actor: OPERATOR, reason: 'race' });
      return;
    case 'extend': {
      const command = {
        by: 'operator',
        actor: OPERATOR,
        byMs: EXTENSION_MS,
        reason: 'race',
      } as const;
      await world.get(ExtendWindow).extend(orderId, command);
      return;
    }
    case 'ship':
      await world.get(ShipOrder).ship(orderId, 'merchant');
      return;
    case 'receive':
      await world.get(ConfirmReceipt).confirm(orderId, CUSTOMER);
      return;
    case 'refund a part':
    case 'take goods back': {
      const isBack = action.do === 'take goods back';
      await world.get(CreateRefund).create(orderId, {
        ...{ actor: OPERATOR, reason: 'race', amount: PART },
        restock: isBack ? [{ sku: TEST_SKU, quantity: 1 }] : [],
      });
      return;
    }
    case 'refund by hand':
    case 'refund a part by hand':
    case 'dispute':
    case 'win dispute':
    case 'lose dispute':
      return outside.deliver(world, moveMoney(action.do, outside, paymentId));
    default:
      return actAtDesk(action.do, action.order, { world, outside, time });
  }
}

/** What somebody does to the money where it is, and the notice of it. */
function moveMoney(what: MoneyAction, outside: Outside, paymentId: string): Sent | undefined {
  const [provider, entry] = [outside.at(paymentId), outside.entry(paymentId)];
  if (!provider || !entry) return undefined;
  const open = entry.disputes.find(({ state }) => state === 'opened');
  switch (what) {
    case 'refund by hand':
      return outside.send(provider, provider.refundedByHand(entry, entry.money?.amount ?? 0));
    case 'refund a part by hand':
      return outside.send(provider, provider.refundedByHand(entry, PART));
    case 'dispute':
      return outside.send(provider, provider.disputed(entry));
    case 'win dispute':
      return open && outside.send(provider, provider.decided(entry, open, 'won'));
    case 'lose dispute':
      return open && outside.send(provider, provider.decided(entry, open, 'lost'));
    default:
      throw new Error(`Nobody does "${what}" at a provider`);
  }
}

function again(outside: Outside, paymentId: string): Sent | undefined {
  const [provider, entry] = [outside.at(paymentId), outside.entry(paymentId)];
  const isPaid = provider && entry?.status === 'paid';
  return isPaid ? outside.send(provider, provider.succeeded(entry)) : undefined;
}
