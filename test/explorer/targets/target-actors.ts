import { LastcallError } from '@app/orders';
import type { PoolClient } from 'pg';
import { fromPg } from '../../../libs/timeout/src/public';
import { KIND, OPEN } from '../../support/numbered-shop';
import { REFUSED } from '../actors';
import type { FakeTime } from '../fake-time';
import type { Sent } from '../outside';
import type { TargetAction } from './target-action';
import { isTryAgain } from './target-checks';
import { settleAtDesk } from './target-desk';
import type { TargetOutside } from './target-outside';
import { AMOUNT, MOVED_ON, PAYABLE_FOR_MS, type TargetShop } from './target-shop';

export interface TargetSurroundings {
  readonly outside: TargetOutside;
  readonly time: FakeTime;
  readonly shop: (process: number) => TargetShop;
  readonly isDead: () => boolean;
  readonly crash: (process: number) => Promise<void>;
  /** What the shop asks its provider for by itself: a step, and at once. */
  readonly step: (what: string, act: () => void) => Promise<void>;
}

/** Does one action; refusals are answers, everything else that is thrown is unexpected. */
export async function actOnTargets(
  action: TargetAction,
  around: TargetSurroundings,
): Promise<void> {
  try {
    await perform(action, around);
  } catch (error) {
    const isAnswer = error instanceof LastcallError && error.code !== 'internal_error';
    // Of rows that somebody has, or time that is over; the provider, or a customer, comes again.
    if (isAnswer || isTryAgain(error) || around.isDead()) return;
    around.outside.unexpected.push(error);
  }
}

async function perform(action: TargetAction, around: TargetSurroundings): Promise<void> {
  const { outside, time } = around;
  switch (action.do) {
    case 'advance':
      return time.pass(action.ms);
    case 'crash':
      return around.crash(action.process);
    case 'silence':
      for (const provider of outside.providers) provider.unreachable = 'before';
      return;
    case 'lose answers':
      for (const provider of outside.providers) provider.unreachable = 'after';
      return;
    case 'answer':
      for (const provider of outside.providers) provider.unreachable = undefined;
      return;
    case 'refuse refunds':
      for (const provider of outside.providers) provider.refundRefusal = REFUSED;
      return;
    case 'ring':
      return around.shop(action.process).runtime.service.drainAll('timer');
    case 'sweep':
      await around.shop(action.process).runtime.service.runSweep();
      return;
    default:
      return performOnOrder(action, around);
  }
}

type OrderAction = Extract<TargetAction, { readonly order: number }>;

async function performOnOrder(action: OrderAction, around: TargetSurroundings): Promise<void> {
  const { outside, time } = around;
  const shop = around.shop(action.process);
  const orderId = outside.orderIds[action.order] as string;
  const paymentId = outside.paymentIds[action.order]?.at(-1) ?? '';
  const now = new Date(time.nowMs);
  switch (action.do) {
    case 'pay':
      return outside.bring(shop.targets, outside.pay(paymentId, now));
    case 'pay late': {
      const first = outside.paymentIds[action.order]?.[0] ?? '';
      return outside.bring(shop.targets, outside.payLate(first, now));
    }
    case 'pay wrongly':
      return outside.bring(shop.targets, outside.pay(paymentId, now, { amount: 1 }));
    case 'close': {
      const answer = await shop.targets.close({ kind: KIND, orderId }, 'canceled');
      outside.answers.push({ orderId, answer });
      return;
    }
    case 'open payment':
    case 'open payment unasked':
      return openPayment(action, orderId, shop, around);
    case 'move on': {
      const client = await shop.pool.connect();
      const sql = `UPDATE orders SET state = ${MOVED_ON} WHERE id = $1 AND state = ${OPEN}`;
      await client.query(sql, [orderId]).finally(() => client.release());
      return;
    }
    case 'settle order':
    case 'settle refund':
    case 'retry refund':
    case 'refund held':
    case 'keep held':
    case 'settle webhook':
      return settleAtDesk(action.do, orderId, shop, outside);
    default:
      return outside.bring(shop.targets, tell(action.do, action.order, paymentId, outside));
  }
}

/** What somebody does to money where it is, or a provider says of it. */
function tell(
  what: OrderAction['do'],
  order: number,
  paymentId: string,
  outside: TargetOutside,
): Sent | undefined {
  const [provider, entry] = [outside.at(paymentId), outside.entry(paymentId)];
  if (!provider || !entry) return undefined;
  switch (what) {
    case 'notice again':
      return entry.status === 'paid'
        ? outside.send(provider, provider.succeeded(entry))
        : undefined;
    case 'late fail':
      return outside.send(provider, provider.failed(entry));
    case 'refund by hand':
      return outside.send(provider, provider.refundedByHand(entry, entry.money?.amount ?? 0));
    case 'dispute':
      return outside.send(provider, provider.disputed(entry));
    case 'tell of refund':
    case 'refund bounces':
      return outside.tellOfRefund(what === 'refund bounces', order);
    default:
      throw new Error(`Nobody does "${what}" at a provider`);
  }
}

/** The shop's own code: its payment is written whole, and then opened at the provider. */
async function openPayment(
  { do: what, order }: OrderAction,
  orderId: string,
  shop: TargetShop,
  { outside, time, step }: TargetSurroundings,
): Promise<void> {
  const client = await shop.pool.connect();
  const expiresAt = time.nowMs + PAYABLE_FOR_MS;
  try {
    await client.query('BEGIN');
    const reference = await insertPayment(client, orderId, expiresAt, outside, async () => {
      const isAsked = what === 'open payment';
      return isAsked && shop.targets.isClosing(fromPg(client), { kind: KIND, orderId });
    });
    await client.query(reference === undefined ? 'ROLLBACK' : 'COMMIT');
    if (reference === undefined) return;
    const provider = outside.providers[0];
    await step('the shop opens its payment', () => {
      // It asks for one that can be paid until then, and so there is none afterwards.
      if (time.nowMs > expiresAt) return;
      provider?.open({ paymentId: reference, amount: AMOUNT, currency: 'EUR' });
      outside.paymentIds[order]?.push(reference);
    });
  } finally {
    client.release();
  }
}

async function insertPayment(
  client: PoolClient,
  orderId: string,
  expiresAt: number,
  outside: TargetOutside,
  isClosing: () => Promise<boolean>,
): Promise<string | undefined> {
  const { rows } = await client.query<{ state: number }>(
    'SELECT state FROM orders WHERE id = $1 FOR UPDATE',
    [orderId],
  );
  if (rows[0]?.state !== OPEN || (await isClosing())) return undefined;
  const reference = outside.nextReference();
  await client.query(
    `INSERT INTO payments (order_id, provider, reference, amount, expires_at) VALUES ($1, $2, $3, $4, $5)`,
    [orderId, outside.providers[0]?.name, reference, AMOUNT, new Date(expiresAt)],
  );
  return reference;
}
