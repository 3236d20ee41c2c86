import { LastcallError, runInvariants } from '@app/orders';
import { WatchWaits } from '../../libs/orders/src/ops/watch-waits';
import { FoldStock } from '../../libs/orders/src/stock/fold-stock';
import { readOrders } from '../../libs/orders/src/order/order-rows';
import { UnansweredError } from '../../libs/timeout/src/draining/handle-claimed';
import { disputedOf, refundedOf } from '../support/ledger-entry';
import { relayAll } from '../support/relay-all';
import { deskFaults, sentByHand } from './desk/desk-checks';
import { HandlerBug } from './crowd/handler-bug';
import type { World } from '../support/world';
import type { FakeTime } from './fake-time';
import type { Outside } from './outside';

/** More than the longest backoff of anything that tries again. */
const ROUND_MS = 61_000;
const ROUNDS = 15;
const LIMIT_MS = 15_000;
/** A payment that a buyer could still pay for an order that is over is a refund waiting to happen. */
const OPEN_FOR_NOTHING = `payments p JOIN orders o ON o.id = p.order_id
  WHERE p.status = 'open' AND o.status <> 'pending_payment'`;

/** The provider repeats what was not acknowledged, workers sweep, time passes: until all is quiet. */
export async function heal(
  world: World,
  outside: Outside,
  time: FakeTime,
  tidy?: () => Promise<void>,
): Promise<string[]> {
  for (let round = 0; round < ROUNDS; round++) {
    if (round > 0) decideDisputes(outside);
    for (const sent of outside.sent) {
      if (!outside.acknowledged.has(sent)) await outside.deliver(world, sent);
    }
    // A provider whose answers are lost stays so for the first round: what it did is not known.
    if (round > 0) for (const provider of outside.providers) provider.unreachable = undefined;
    if (round > 0) {
      await tidy?.();
      time.pass(ROUND_MS);
    }
    await world.timeouts.runSweep();
    await world.get(FoldStock).runOnce();
    if (!(await isQuiet(world)) || (tidy && round === 0)) continue;
    await relayAll(world);
    // Who waits for an operator is told of, as it is each minute.
    await world.get(WatchWaits).runOnce();
    return [];
  }
  return [`nothing came to rest in ${ROUNDS} rounds`];
}

/** Banks take their time, and no longer: some for the shop, some for the buyer. */
function decideDisputes(outside: Outside): void {
  let nth = 0;
  for (const provider of outside.providers) {
    for (const entry of provider.entries.values()) {
      for (const dispute of entry.disputes.filter(({ state }) => state === 'opened')) {
        outside.send(provider, provider.decided(entry, dispute, nth++ % 2 === 0 ? 'won' : 'lost'));
      }
    }
  }
}

/** Whether nothing is left to do; an order that is over may have a payment to be ended, canceled or not. */
export async function isQuiet(world: World): Promise<boolean> {
  const [row] = await world.rows<{ n: string }>(
    `SELECT (SELECT count(*) FROM orders WHERE status IN ('pending_payment', 'closing'))
          + (SELECT count(*) FROM refunds WHERE status IN ('requested', 'pending', 'failed'))
          + (SELECT count(*) FROM webhook_events WHERE status = 'received')
          + (SELECT count(*) FROM unfolded_stock_movements)
          + (SELECT count(*) FROM ${OPEN_FOR_NOTHING}) AS n`,
  );
  return Number(row?.n) === 0;
}

/** Everything that is wrong in the end, in words. */
export async function findFaults(
  world: World,
  worlds: readonly World[],
  outside: Outside,
): Promise<string[]> {
  const results = await runInvariants(world, { limitMs: LIMIT_MS, newest: 'all' });
  return [
    ...results
      .filter(({ violations }) => violations > 0)
      .map(({ id, name, violations }) => `invariant ${id} ${name}: ${violations}`),
    ...outside.unexpected.map((error) => `unexpected: ${String(error)}`),
    ...worlds.flatMap(unexpectedReports),
    ...(await moneyFaults(world, outside)),
    ...(await deskFaults(world, outside)),
    ...(await openPaymentFaults(world)),
    ...(await answerFaults(world, outside)),
    ...(await streamFaults(world)),
  ];
}

/** The providers' ledgers against our books, and against what every order says of its money. */
async function moneyFaults(world: World, outside: Outside): Promise<string[]> {
  const rows = await world.rows<{ id: string; order_id: string }>(
    'SELECT provider_payment_id AS id, order_id FROM payments',
  );
  const orderOf = new Map(rows.map(({ id, order_id }) => [id, order_id]));
  const theirs = new Map<string, Money>();
  const faults: string[] = [];
  for (const entry of outside.entries) {
    const taken = entry.status === 'paid' ? (entry.money?.amount ?? 0) : 0;
    const money = { captured: taken, refunded: refundedOf(entry), disputed: disputedOf(entry) };
    if (money.refunded > taken) faults.push(`${entry.id}: more given back than taken`);
    const orderId = orderOf.get(entry.id);
    if (!orderId) {
      if (taken > 0) faults.push(`${entry.id}: took money and is nobody's`);
      continue;
    }
    const before = theirs.get(orderId) ?? NO_MONEY;
    theirs.set(orderId, {
      captured: before.captured + money.captured,
      refunded: before.refunded + money.refunded,
      disputed: before.disputed + money.disputed,
    });
  }
  const orders = await world.rows<{ id: string }>('SELECT id FROM orders');
  const ours = await readOrders(
    world,
    orders.map(({ id }) => id),
  );
  const byHand = await sentByHand(world);
  for (const { id } of orders) {
    const [balance, told] = [ours.get(id)?.balance ?? NO_MONEY, theirs.get(id) ?? NO_MONEY];
    const ledger = { ...told, refunded: told.refunded + (byHand.get(id) ?? 0) };
    for (const what of ['captured', 'refunded', 'disputed'] as const) {
      if (balance[what] === ledger[what]) continue;
      faults.push(`order ${id}: ${what} ${balance[what]}, at the provider ${ledger[what]}`);
    }
  }
  return faults;
}

type Money = Readonly<Record<'captured' | 'refunded' | 'disputed', number>>;
const NO_MONEY: Money = { captured: 0, refunded: 0, disputed: 0 };

async function openPaymentFaults(world: World): Promise<string[]> {
  const rows = await world.rows<{ id: string; status: string }>(
    `SELECT p.id, o.status FROM ${OPEN_FOR_NOTHING}`,
  );
  return rows.map(({ id, status }) => `payment ${id} is open and its order is ${status}`);
}

/** Whatever was answered must be true. */
async function answerFaults(world: World, outside: Outside): Promise<string[]> {
  const stored = await world.rows<{ event_id: string }>('SELECT event_id FROM webhook_events');
  const events = new Set(stored.map((row) => row.event_id));
  const orders = await world.rows<{ id: string; status: string }>('SELECT id, status FROM orders');
  const statuses = new Map(orders.map(({ id, status }) => [id, status]));
  const byKey = new Map<number, Set<string>>();
  for (const { key, orderId } of outside.placed) {
    byKey.set(key, (byKey.get(key) ?? new Set()).add(orderId));
  }
  return [
    ...[...outside.acknowledged]
      .map(({ headers }) => headers['webhook-id'] as string)
      .filter((id) => !events.has(id))
      .map((id) => `webhook ${id} was acknowledged and is not stored`),
    ...outside.placed
      .filter(({ orderId }) => !statuses.has(orderId))
      .map(({ orderId }) => `order ${orderId} was answered and does not exist`),
    ...[...byKey]
      .filter(([, ids]) => ids.size > 1)
      .map(([key]) => `key ${key} was answered with several orders`),
    ...[...outside.toldClosed]
      .filter((id) => statuses.get(id) !== 'closed')
      .map((id) => `order ${id} was canceled and is ${statuses.get(id)}`),
  ];
}

/** Everything reached the stream, in order for each order. */
async function streamFaults(world: World): Promise<string[]> {
  const rows = await world.rows<{ key: string }>(
    `SELECT order_id || ' ' || version AS key FROM order_events`,
  );
  const sent = new Set<string>();
  const highest = new Map<string, number>();
  const faults: string[] = [];
  for (const { orderId, version } of world.stream.events) {
    sent.add(`${orderId} ${version}`);
    const before = highest.get(orderId) ?? 0;
    if (version > before + 1) faults.push(`event ${version} of ${orderId} was sent too early`);
    highest.set(orderId, Math.max(before, version));
  }
  const missing = rows.filter(({ key }) => !sent.has(key));
  return [...faults, ...missing.map(({ key }) => `event ${key} was never sent`)];
}

/**
 * What the product reports as failed: a busy order is an outcome, and so is a handler that is not
 * waited for, where the schedule lets its time pass; a bug is not.
 */
function unexpectedReports({ told }: World): string[] {
  return told.flatMap(({ name, args }) => {
    if (!['batchFailed', 'deadlineHeld', 'failed'].includes(name)) return [];
    const error = args.at(-1);
    // Of a bug that a program has played; nobody may be held for it.
    if (name === 'batchFailed' && error instanceof HandlerBug) return [];
    // Its answer is lost, and so the program wants it: the reason goes to who runs the shop.
    if (args[0] === 'open payment' && /: away$/.test(String(error))) return [];
    return isRefusal(error) ? [] : [`${name} ${String(args[0])}: ${String(error)}`];
  });
}

function isRefusal(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isRefusal);
  if (error instanceof LastcallError || error instanceof UnansweredError) return true;
  // Reconciling tells of the first that it could not settle.
  return error instanceof Error && error.cause !== undefined && isRefusal(error.cause);
}
