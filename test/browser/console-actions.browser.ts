import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { DigestHistory } from '../../libs/orders/src/events/digest-history';
import { historyIsOver } from '../support/history-is-over';
import { type StartedShop, startShop } from '../support/shop';
import { launch, visit, type Visitor } from './browser';
import { ADMIN, confirm, enterConsole, goTo } from './console';

let browser: Browser;
let shop: StartedShop;
let visitor: Visitor;

beforeAll(async () => {
  [browser, shop] = await Promise.all([
    launch(),
    startShop({
      ...{ PAYMENT_WINDOW: '10m', PAYMENT_GRACE: '1m', LATE_PAYMENT: 'hold' },
    }),
  ]);
  visitor = await visit(browser, { viewport: { width: 1280, height: 800 } });
  await enterConsole(shop, visitor, '', ADMIN);
  // What an action changed is seen by the next refresh.
  await visitor.page.getByLabel('refresh').selectOption('1 s');
});
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});
afterEach(async () => {
  await visitor.page.keyboard.press('Escape');
  expect(visitor.complaints.splice(0)).toEqual([]);
});

const sql = (text: string, ...params: unknown[]) => shop.app.rows<{ id: string }>(text, params);

/** A subject of an action: its id, and where in the console it is found. */
interface Subject {
  readonly id: string;
  readonly place: string;
}
const anOrder = (id: string): Subject => ({ id, place: `order/${id}` });
const aWait = (id: string, wait: string): Subject => ({ id, place: `work?wait=${wait}` });

async function unpaid(): Promise<Subject> {
  return anOrder((await shop.place()).id);
}

async function paid(): Promise<{ orderId: string; paymentId: string }> {
  const { orderId, paymentId, providerId } = await shop.placeWithPayment();
  await shop.buyerPays(providerId);
  await shop.untilOrder(orderId, 'paid');
  return { orderId, paymentId };
}

/** Waits for a provider that is not asked while the test lasts. */
async function closing(): Promise<Subject> {
  const { orderId } = await shop.placeWithPayment();
  await sql(
    `WITH fenced AS (
       UPDATE orders SET status = 'closing', close_reason = 'operator_closed', version = version + 1
        WHERE id = $1 RETURNING id, version),
     told AS (
       INSERT INTO order_events (order_id, version, type, from_status, to_status, by)
       SELECT id, version, 'order.closing', 'pending_payment', 'closing', 'timer' FROM fenced)
     INSERT INTO deadlines (kind, due_at, subject_id, version)
     SELECT 'closing', now() + interval '1 hour', id, version FROM fenced`,
    orderId,
  );
  return anOrder(orderId);
}

async function moneyOnHold(): Promise<Subject> {
  const { paymentId, providerId } = await shop.placeAndCancel();
  await shop.buyerPays(providerId, { afterClose: true });
  await shop.untilDelivered(providerId, 'payment.succeeded');
  return aWait(paymentId, 'payment_on_hold');
}

async function heldWebhook(): Promise<Subject> {
  const id = randomUUID();
  await sql(
    `INSERT INTO webhook_events (id, provider, event_id, notice, status, result)
     VALUES ($1::uuid, 'sandbox', $1::uuid::text, '{"type": "payment.succeeded", "paymentId": "nobody"}', 'held',
             'unknown reference')`,
    id,
  );
  return aWait(id, 'webhook_held');
}

async function heldDeadline(): Promise<Subject> {
  const { id } = await shop.place();
  await sql(
    `INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
     VALUES ('payment', $1, now(), 1, 5, 'it throws')`,
    id,
  );
  return aWait(id, 'deadline_held');
}

async function refundInAttention(): Promise<Subject> {
  const { paymentId } = await paid();
  const id = randomUUID();
  await sql(
    `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, error)
     SELECT $1, id, 'operator', amount, currency, 'needs_attention', 'refused' FROM payments WHERE id = $2`,
    id,
    paymentId,
  );
  return aWait(id, 'refund_in_attention');
}

/** It hears of nothing, and may not be reached: what is sent again goes nowhere. */
async function endpoint(): Promise<string> {
  const [row] = await sql(
    `INSERT INTO webhook_endpoints (id, url, events, secret, from_tx)
     VALUES (gen_random_uuid(), 'http://127.0.0.1:9/', '{*}', 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
             '9223372036854775807') RETURNING id`,
  );
  return (row as { id: string }).id;
}

async function endpointOff(): Promise<Subject> {
  const id = await endpoint();
  await sql(
    `UPDATE webhook_endpoints SET status = 'off', status_reason = 'it answered 410 Gone' WHERE id = $1`,
    id,
  );
  return aWait(id, 'webhook_endpoint_off');
}

async function deadDelivery(): Promise<Subject> {
  const [id, order] = [await endpoint(), await shop.place()];
  await sql(
    `INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until, status, settled_at)
     VALUES ($1, $2, 1, 'order.placed', now(), 'dead', now())`,
    id,
    order.id,
  );
  return aWait(id, 'delivery_dead');
}

async function brake(): Promise<Subject> {
  const [row] = await sql(
    `INSERT INTO timeout_brakes (cause, kind, due, waiting)
     VALUES ('blast radius', 'payment', 9, 10) RETURNING id`,
  );
  return { id: (row as { id: string }).id, place: 'now' };
}

interface Case {
  readonly button: string;
  readonly title: string;
  readonly subject: () => Promise<Subject>;
  /** What the audit says afterwards. */
  readonly written: string;
  /** How somebody else is faster, by their own means. */
  readonly overtake: (id: string) => Promise<unknown>;
  readonly refusal: RegExp;
}

const cancelByCustomer = (id: string) => shop.api('POST', `/v1/orders/${id}/cancel`);
const byOperator = (action: string, body: object) => (id: string) =>
  shop.api('POST', `/v1/ops/orders/${id}/${action}`, { reason: 'faster', ...body }, {}, 'ops');
const endHold = (id: string) => sql('UPDATE payments SET hold_reason = NULL WHERE id = $1', id);
const settleWebhook = (id: string) =>
  sql(`UPDATE webhook_events SET status = 'processed', result = 'done' WHERE id = $1`, id);

const CASES: readonly Case[] = [
  {
    ...{ button: 'Close', title: 'Close by force', subject: unpaid, written: 'order.closed' },
    ...{ overtake: cancelByCustomer, refusal: /is closed; only an unpaid order/ },
  },
  {
    ...{ button: 'Extend', title: 'Give ten more minutes', subject: unpaid },
    ...{ written: 'order.extended', overtake: cancelByCustomer, refusal: /is closed; only/ },
  },
  {
    ...{ button: 'Cancel', title: 'Cancel', written: 'order.canceled' },
    subject: async () => anOrder((await paid()).orderId),
    ...{ overtake: byOperator('cancel', {}), refusal: /is canceled; only a paid order/ },
  },
  ...(['closed', 'paid'] as const).map((as) => ({
    ...{ button: `Settle as ${as}`, title: `Settle as ${as}`, subject: closing },
    ...{ written: `order.${as}`, overtake: byOperator('settle', { as: 'closed' }) },
    refusal: /is closed; only an order that waits/,
  })),
  ...[
    ['Refund', 'payment.refund'],
    ['Keep', 'payment.keep'],
    ['Accept', 'payment.accept'],
  ].map(([button = '', written = '']) => ({
    ...{ button, written, title: `${button} this money`, subject: moneyOnHold },
    ...{ overtake: endHold, refusal: /not on hold|settle/ },
  })),
  {
    ...{ button: 'Retry', title: 'Retry this refund', subject: refundInAttention },
    overtake: (id) => sql(`UPDATE refunds SET status = 'failed' WHERE id = $1`, id),
    ...{ written: 'refund.retry', refusal: /is tried again by itself/ },
  },
  {
    ...{ button: 'Settle as done', title: 'Settle as done', subject: refundInAttention },
    overtake: (id) => sql(`UPDATE refunds SET status = 'canceled' WHERE id = $1`, id),
    ...{ written: 'refund.done', refusal: /is owed no longer/ },
  },
  {
    ...{ button: 'Replay', title: 'Replay this notice', subject: heldWebhook },
    ...{ written: 'webhook.replay', overtake: settleWebhook, refusal: /it has had its effect/ },
  },
  {
    ...{ button: 'Dismiss', title: 'Dismiss this notice', subject: heldWebhook },
    ...{ written: 'webhook.dismiss', overtake: settleWebhook, refusal: /only a held one/ },
  },
  {
    ...{ button: 'Release', title: 'Release this deadline', subject: heldDeadline },
    overtake: (id) => sql('DELETE FROM held_deadlines WHERE subject_id = $1', id),
    ...{ written: 'deadline.release', refusal: /is held any more/ },
  },
  {
    ...{ button: 'Switch on', title: 'Switch this endpoint on', subject: endpointOff },
    overtake: (id) => sql(`UPDATE webhook_endpoints SET status = 'on' WHERE id = $1`, id),
    ...{ written: 'webhook_endpoint.switch_on', refusal: /is switched on again already/ },
  },
  {
    ...{ button: 'Send again', title: 'Send its webhooks again', subject: deadDelivery },
    overtake: (id) =>
      sql(`UPDATE webhook_deliveries SET status = 'delivered' WHERE endpoint_id = $1`, id),
    ...{ written: 'webhook_endpoint.redeliver', refusal: /is given up any more/ },
  },
  {
    ...{ button: 'Resume', title: 'Resume timeouts', subject: brake, written: 'timeouts.resume' },
    overtake: (id) =>
      sql(
        `UPDATE timeout_brakes SET released_at = now(), released_by = 'otto', release_reason = 'it'
          WHERE id = $1`,
        id,
      ),
    refusal: /Timeouts are running/,
  },
];

/** Opens the dialog of an action for its subject. */
async function open({ button }: Case, { id, place }: Subject): Promise<void> {
  const { page } = visitor;
  await goTo(shop, page, place);
  const around = place.startsWith('work')
    ? page.getByRole('row').filter({ has: page.getByLabel(`Copy ${id}`) })
    : page.getByRole('main');
  await around.getByRole('button', { name: button, exact: true }).first().click();
}

it.each(CASES.map((one) => [one.title, one] as const))(
  '%s: rehearses, is done with a reason, and stays where somebody was faster',
  async (title, one) => {
    const { page } = visitor;
    const dialog = page.getByRole('dialog');
    const done = await one.subject();
    await open(one, done);
    await confirm(visitor, title);
    await dialog.waitFor({ state: 'hidden' });
    await historyIsOver(shop.app);
    await shop.app.app.get(DigestHistory, { strict: false }).runOnce();
    await goTo(shop, page, 'audit');
    const written = new RegExp(`olga.*${one.written}.*seen in a test`);
    await page
      .getByRole('row', { name: written })
      .filter({ has: page.getByLabel(`Copy ${done.id}`) })
      .waitFor();

    const lost = await one.subject();
    await open(one, lost);
    await dialog.getByText('A rehearsal says:').waitFor();
    await one.overtake(lost.id);
    await confirm(visitor, title);
    await dialog.getByText('This is what happened').waitFor();
    expect(await dialog.locator('.failure').textContent()).toMatch(one.refusal);
  },
);

it('acts on all that the filter shows, once their number is typed', async () => {
  const { page } = visitor;
  const held = await Promise.all([heldWebhook(), heldWebhook(), heldWebhook()]);
  await goTo(shop, page, 'work');
  await page.getByRole('link', { name: /^webhook held/ }).click();
  await page.getByRole('button', { name: /^Dismiss all \d+$/ }).waitFor();
  const [{ n }] = (await shop.app.rows<{ n: number }>(
    `SELECT count(*)::int AS n FROM webhook_events WHERE status = 'held'`,
  )) as [{ n: number }];
  await page.getByRole('button', { name: `Dismiss all ${n}` }).click();
  expect(await visitor.barriers()).toEqual([]);
  await settleWebhook(held[0].id);
  await confirm(visitor, 'Dismiss this notice', n);
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`${n - 1}: dismissed, without effect`).waitFor();
  expect(await dialog.locator('.failure').count()).toBe(1);
  expect(await visitor.barriers()).toEqual([]);
});

it('acts on all orders that the filter finds', async () => {
  const { page } = visitor;
  const orders = await Promise.all([shop.place(), shop.place(), shop.place()]);
  const [since] = orders.map(({ createdAt }) => createdAt).sort();
  await goTo(shop, page, `orders?status=pending_payment&since=${since}`);
  await page.getByRole('button', { name: 'Close all that match' }).click();
  await confirm(visitor, 'Close by force', orders.length);
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  for (const { id } of orders) await shop.untilOrder(id, 'closed');
});
