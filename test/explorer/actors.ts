import {
  CancelOrder,
  ConfirmReceipt,
  ExtendWindow,
  ForceCloseOrder,
  LastcallError,
  PlaceOrder,
  ReadOrder,
  ReceiveWebhook,
  RelayEvents,
  ShipOrder,
  StartPayment,
} from '@app/orders';
import { FoldStock } from '../../libs/orders/src/stock/fold-stock';
import type { LedgerEntry, LedgerProvider, Posted } from '../support/ledger-provider';
import { TEST_SKU } from '../support/insert-orders';
import type { World } from '../support/world';
import type { FakeTime } from './instrument';
import type { Action } from './program';
import type { LockStore } from './shared-lock';

const CUSTOMER = 'ann';
const OPERATOR = 'olga';
const EXTENSION_MS = 5_000;

/** What a program knows of the shop from outside: orders, payments, and what was answered. */
export interface Outside {
  readonly provider: LedgerProvider;
  readonly orderIds: readonly string[];
  /** Payments of each order, the newest last. */
  readonly paymentIds: string[][];
  /** Every webhook the provider has sent; it repeats those that were not acknowledged. */
  readonly posted: Posted[];
  readonly acknowledged: Set<Posted>;
  readonly placed: { readonly key: number; readonly orderId: string }[];
  /** Orders whose customer was told that they are closed. */
  readonly toldClosed: Set<string>;
  readonly unexpected: unknown[];
}

export interface Surroundings {
  readonly outside: Outside;
  readonly time: FakeTime;
  readonly locks: LockStore;
  readonly world: (process: number) => World;
  readonly isDead: () => boolean;
  readonly crash: (process: number) => Promise<void>;
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
  const { outside, time, locks } = around;
  switch (action.do) {
    case 'advance':
      time.nowMs += action.ms;
      return;
    case 'crash':
      return around.crash(action.process);
    case 'lose locks':
      return locks.lose();
    case 'lose redis':
      locks.isAway = true;
      return;
    case 'ring':
      return around.world(action.process).timeouts.drainAll('timer');
    case 'sweep':
      await around.world(action.process).timeouts.runSweep();
      return;
    case 'relay':
      await around.world(action.process).get(RelayEvents).runOnce();
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
  const entry = outside.provider.entries.get(`pay-${paymentId}`);
  const now = new Date(time.nowMs);
  switch (action.do) {
    case 'pay':
      return post(world, outside, outside.provider.pay(paymentId, now));
    case 'pay late': {
      // The other attempt, where there are two.
      const first = outside.paymentIds[action.order]?.[0] ?? '';
      return post(world, outside, outside.provider.pay(first, now, { late: true }));
    }
    case 'pay wrongly':
      return post(world, outside, outside.provider.pay(paymentId, now, { amount: 1 }));
    case 'notice again':
      return post(world, outside, outside.posted.at(-1) ?? again(outside.provider, entry));
    case 'late fail':
      return post(world, outside, entry && outside.provider.failed(entry));
    case 'start payment': {
      const command = { orderId, customerId: CUSTOMER };
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
  }
}

function again(provider: LedgerProvider, entry: LedgerEntry | undefined): Posted | undefined {
  return entry?.status === 'paid' ? provider.succeeded(entry) : undefined;
}

/** Sends a webhook; one that is not answered with success stays to be sent again. */
export async function post(
  world: World,
  outside: Outside,
  posted: Posted | undefined,
): Promise<void> {
  if (!posted) return;
  if (!outside.posted.includes(posted)) outside.posted.push(posted);
  await world.get(ReceiveWebhook).receive('sandbox', posted.body, posted.headers);
  outside.acknowledged.add(posted);
}
