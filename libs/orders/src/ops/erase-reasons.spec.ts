import { randomUUID } from 'node:crypto';
import { inTransaction } from '@app/timeout';
import { historyIsOver } from '../../../../test/support/history-is-over';
import {
  brokenInvariants,
  closeUnanswered,
  openOrder,
  type Payable,
  receive,
} from '../../../../test/support/paid-order';
import type { Posted } from '../../../../test/support/ledger-provider';
import { openWorld, type World } from '../../../../test/support/world';
import { SealHistory } from '../events/seal-history';
import { verifyHistory } from '../events/verify-history';
import { ConfirmReceipt } from '../fulfilment/confirm-receipt';
import { ShipOrder } from '../fulfilment/ship-order';
import { recordAction } from '../order/operator-action';
import { ReleaseDeadlines } from './release-deadlines';
import { Retention } from '../retention';
import { DismissWebhook } from './dismiss-webhook';
import { EraseCustomer } from './erase-customer';
import { SettleOrder } from './settle-order';
import { ReplayWebhook } from './webhooks';

/** What operators wrote about the orders of ann, who is erased, is gone from wherever it was kept. */

const CANARY = `canary-${randomUUID()}`;
const ABOUT_ANN = { actor: 'olga', reason: `${CANARY} has called` };
const ABOUT_BOB = { actor: 'olga', reason: 'bob has written' };

let world: World;
beforeEach(async () => (world = await openWorld()));
afterEach(() => world?.close());

const erase = () =>
  new EraseCustomer(world.dataSource, world.stream).erase('ann', {
    ...{ actor: 'olga', reason: 'request 2026-17' },
  });

async function complete({ id }: Payable): Promise<void> {
  await world.get(ShipOrder).ship(id, 'mia');
  await world.get(ConfirmReceipt).confirm(id, 'ann');
}

async function completedOrder(): Promise<Payable> {
  const order = await openOrder(world);
  await receive(world, world.provider.pay(order.paymentId, new Date()) as Posted);
  await complete(order);
  return order;
}

/** A webhook that an operator has to look at, that came so many days ago. */
async function stored(notice: Readonly<Record<string, unknown>>, daysAgo = 8): Promise<string> {
  const [row] = await world.rows<{ id: string }>(
    `INSERT INTO webhook_events (id, provider, event_id, notice, status, result, received_at)
     VALUES (gen_random_uuid(), 'sandbox', gen_random_uuid(), $1, 'held', 'unknown',
             now() - $2 * interval '1 day') RETURNING id`,
    [{ type: 'payment.failed', ...notice }, daysAgo],
  );
  return row?.id as string;
}

/** Tables in which it stands, in whatever column. */
async function tablesThatKnow(text = CANARY): Promise<string[]> {
  const tables = await world.rows<{ name: string }>(
    `SELECT relname AS name FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY 1`,
  );
  const known: string[] = [];
  for (const { name } of tables) {
    const sql = `SELECT 1 FROM ${name} AS t WHERE t::text LIKE $1 LIMIT 1`;
    if ((await world.rows(sql, [`%${text}%`])).length > 0) known.push(name);
  }
  return known;
}

async function sealed(): Promise<void> {
  await historyIsOver(world);
  await world.get(SealHistory).runOnce();
}

const breaks = async () => (await verifyHistory(world, null, 'all')).breaks;

it('erases why an order was settled as paid', async () => {
  const order = await openOrder(world);
  await closeUnanswered(world, order.id, ABOUT_ANN);
  await world.get(SettleOrder).settle(order.id, { ...ABOUT_ANN, as: 'paid' });
  await complete(order);
  // As it was written before: by whom, and why.
  await world.rows(
    `UPDATE money_movements SET reason = $2 WHERE order_id = $1 AND kind = 'captured'`,
    [order.id, ABOUT_ANN.reason],
  );
  await erase();
  expect(await tablesThatKnow()).toEqual([]);
  expect(await brokenInvariants(world)).toEqual([]);
});

it('keeps it in the history alone, which it is erased from', async () => {
  const order = await openOrder(world);
  await closeUnanswered(world, order.id, { ...ABOUT_ANN, reason: 'he has paid' });
  await world.get(SettleOrder).settle(order.id, { ...ABOUT_ANN, as: 'paid' });
  expect(await tablesThatKnow()).toEqual(['order_events']);
});

it('erases what was done about webhooks, also when these would be forgotten by then', async () => {
  const { paymentId } = await completedOrder();
  const byOurId = await stored({ paymentId, providerPaymentId: 'theirs' });
  const byTheirs = await stored({ paymentId: randomUUID(), providerPaymentId: `pay-${paymentId}` });
  const ofBob = await stored({ paymentId: randomUUID(), providerPaymentId: 'of bob' });
  const dismiss = new DismissWebhook(world.dataSource);
  await dismiss.dismiss(byOurId, ABOUT_ANN);
  await new ReplayWebhook(world.dataSource, world.timeouts).replay(byTheirs, ABOUT_ANN);
  await world.timeouts.runSweep();
  const settled = `UPDATE webhook_events SET status = 'processed' WHERE id = $1`;
  await world.rows(settled, [byTheirs]);
  await dismiss.dismiss(ofBob, ABOUT_BOB);
  const nobodys = await stored({ paymentId: randomUUID() });
  await world.rows(settled, [nobodys]);
  await sealed();

  const retention = world.get(Retention);
  expect(await retention.runOnce()).toMatchObject({ webhooks: 1 });
  await erase();
  expect(await tablesThatKnow()).toEqual([]);
  expect(await tablesThatKnow(ABOUT_BOB.reason)).toEqual(['operator_actions']);
  expect(await breaks()).toEqual([]);
  // Nothing is left to be found by them.
  expect(await retention.runOnce()).toMatchObject({ webhooks: 2 });
});

it('erases what was done about webhooks that nobody knows any more, whomever it was about', async () => {
  const { paymentId } = await completedOrder();
  const forgotten = await stored({ paymentId });
  await new DismissWebhook(world.dataSource).dismiss(forgotten, ABOUT_ANN);
  await world.rows('DELETE FROM webhook_events WHERE id = $1', [forgotten]);
  await inTransaction(world.dataSource, (tx) =>
    recordAction(tx, 'timeouts.resume', 'brake', [randomUUID()], ABOUT_BOB),
  );
  await sealed();
  expect(await erase()).toMatchObject({ actions: 1 });
  expect(await tablesThatKnow()).toEqual([]);
  expect(await tablesThatKnow(ABOUT_BOB.reason)).toEqual(['operator_actions']);
  expect(await breaks()).toEqual([]);
});

it('erases why the deadline of a webhook was released', async () => {
  const { paymentId } = await completedOrder();
  const webhook = await stored({ paymentId: randomUUID(), providerPaymentId: `pay-${paymentId}` });
  await world.rows(
    `INSERT INTO held_deadlines (kind, due_at, subject_id, version, failures, error)
     VALUES ('webhook', now(), $1, 1, 9, 'it threw')`,
    [webhook],
  );
  await new ReleaseDeadlines(world.dataSource, world.timeouts).release(
    { subjectIds: [webhook] },
    ABOUT_ANN,
  );
  await world.rows(`UPDATE webhook_events SET status = 'processed' WHERE id = $1`, [webhook]);
  await world.rows('DELETE FROM deadlines');
  await world.get(Retention).runOnce();
  await erase();
  expect(await tablesThatKnow()).toEqual([]);
});

it('erases what a command has left to a host about a payment', async () => {
  const { paymentId } = await completedOrder();
  await world.rows(`INSERT INTO errands (id, what, args) VALUES ($1, 'payments.settle', $2)`, [
    randomUUID(),
    JSON.stringify([paymentId, 'keep', ABOUT_ANN]),
  ]);
  await erase();
  expect(await tablesThatKnow()).toEqual([]);
});
