import { LastcallError } from '@app/orders';
import { ForeignMoney } from '../../../libs/orders/src/money/foreign-money';
import { CancelOrderByOperator } from '../../../libs/orders/src/ops/cancel-order-by-operator';
import { type FinishedRefund, FinishRefund } from '../../../libs/orders/src/ops/finish-refund';
import { type PaymentDecision, SettlePayment } from '../../../libs/orders/src/ops/held-payments';
import { RetryRefund } from '../../../libs/orders/src/ops/refunds';
import { SettleOrder } from '../../../libs/orders/src/ops/settle-order';
import { OrderGuard } from '../../../libs/orders/src/order/order-guard';
import { Reconcile } from '../../../libs/orders/src/reconciling/reconcile';
import type { World } from '../../support/world';
import type { FakeTime } from '../fake-time';
import type { Outside, Sent } from '../outside';
import type { DeskAction } from './desk-action';

const OLGA = { actor: 'olga', reason: 'race' };
const A_YEAR_MS = 365 * 86_400_000;

/** Does what an operator would, by what the shop's lists and the providers' statements say; refusals are answers. */
export async function actAtDesk(
  what: DeskAction,
  order: number,
  { world, outside, time }: { world: World; outside: Outside; time: FakeTime },
): Promise<void> {
  const orderId = outside.orderIds[order] as string;
  switch (what) {
    case 'settle refund':
      return settleRefund(world, outside, orderId);
    case 'retry refund':
      return retryRefunds(world, orderId);
    case 'refund held':
    case 'keep held':
    case 'accept held':
      return settleHeld(world, outside, orderId, what.split(' ')[0] as PaymentDecision);
    case 'settle order':
      return settleOrder(world, outside, order);
    case 'operator cancels':
      await world.get(CancelOrderByOperator).cancel(orderId, OLGA);
      return;
    case 'reconcile':
      return reconcile(world, time);
    case 'tell of refund':
    case 'refund bounces':
      return outside.deliver(world, tellOfRefund(what, outside, order));
  }
}

/** What waits for a person is decided, as it would be in time. */
export async function clearDesk(world: World, outside: Outside, time: FakeTime): Promise<void> {
  for (const provider of outside.providers) provider.refundRefusal = undefined;
  await reconcile(world, time);
  for (const [order, orderId] of outside.orderIds.entries()) {
    await settleHeld(world, outside, orderId, order % 2 === 0 ? 'refund' : 'keep');
    await retryRefunds(world, orderId);
  }
}

async function retryRefunds(world: World, orderId: string): Promise<void> {
  for (const id of await refundsOf(world, orderId, 'needs_attention')) {
    await new RetryRefund(world.dataSource, world.timeouts).retry(id, OLGA);
  }
}

/** By a bank transfer, unless the provider's statements have it; the money is sent last. */
async function settleRefund(world: World, outside: Outside, orderId: string): Promise<void> {
  const [id] = await refundsOf(world, orderId, 'requested', 'pending', 'failed', 'needs_attention');
  if (!id) return;
  const made = outside.entries.flatMap(({ refunds }) => refunds);
  if (made.some(({ key, state }) => key?.startsWith(id) && state !== 'FAILED')) return;
  const { refund, rest } = await finish(world, id);
  const sent = refund.status === 'succeeded' ? refund : rest;
  if (sent) outside.transfers.push({ refundId: sent.id, amount: sent.amount });
}

/** All of it, or what the refusal says is owed. */
async function finish(world: World, id: string): Promise<FinishedRefund> {
  const finishing = world.get(FinishRefund);
  try {
    return await finishing.finish(id, OLGA);
  } catch (error) {
    const owed = error instanceof LastcallError ? error.fields['owed'] : undefined;
    if (typeof owed !== 'number' || owed === 0) throw error;
    return finishing.finish(id, { ...OLGA, amount: owed });
  }
}

async function settleHeld(
  world: World,
  outside: Outside,
  orderId: string,
  how: PaymentDecision,
): Promise<void> {
  const held = await world.rows<{ id: string }>(
    'SELECT id FROM payments WHERE order_id = $1 AND hold_reason IS NOT NULL ORDER BY id',
    [orderId],
  );
  const [guard, money] = [world.get(OrderGuard), world.get(ForeignMoney)];
  const settling = new SettlePayment(world.dataSource, world.timeouts, guard, money);
  for (const { id } of held) {
    await settling.settle(id, how, OLGA);
    outside.decided.push(id);
  }
}

/** As paid, where a payment's provider has all its money; as closed, where none has any. */
async function settleOrder(world: World, outside: Outside, order: number): Promise<void> {
  const [orderId, ids] = [outside.orderIds[order] as string, outside.paymentIds[order] ?? []];
  const paid = ids.filter((id) => outside.entry(id)?.status === 'paid');
  const whole = paid.find((id) => {
    const { amount, money } = outside.entry(id) ?? {};
    return money?.amount === amount;
  });
  if (paid.length > 0 && !whole) return;
  const command = whole ? ({ as: 'paid', paymentId: whole } as const) : ({ as: 'closed' } as const);
  await world.get(SettleOrder).settle(orderId, { ...OLGA, ...command });
}

async function reconcile(world: World, time: FakeTime): Promise<void> {
  const since = new Date(time.nowMs - A_YEAR_MS);
  await world.get(Reconcile).run({ since, fixFor: OLGA, onDifference: () => undefined });
}

function tellOfRefund(
  what: 'tell of refund' | 'refund bounces',
  outside: Outside,
  order: number,
): Sent | undefined {
  for (const id of outside.paymentIds[order] ?? []) {
    const [provider, entry] = [outside.at(id), outside.entry(id)];
    const made = entry?.refunds.findLast(({ key, state }) => key !== null && state !== 'FAILED');
    if (!provider || !entry || !made) continue;
    if (what === 'tell of refund') return outside.send(provider, provider.refunded(entry, made));
    return outside.send(provider, provider.bounced(entry, made));
  }
  return undefined;
}

async function refundsOf(
  world: World,
  orderId: string,
  ...statuses: readonly string[]
): Promise<string[]> {
  const rows = await world.rows<{ id: string }>(
    `SELECT r.id FROM refunds r JOIN payments p ON p.id = r.payment_id
      WHERE p.order_id = $1 AND r.status = ANY ($2::text[]) ORDER BY r.id`,
    [orderId, statuses],
  );
  return rows.map(({ id }) => id);
}
