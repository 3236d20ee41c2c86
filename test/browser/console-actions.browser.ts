import type { Browser } from 'playwright-core';
import { DigestHistory } from '../../libs/orders/src/events/digest-history';
import { historyIsOver } from '../support/history-is-over';
import { type StartedShop, startShop } from '../support/shop';
import { launch, visit, type Visitor } from './browser';
import { ADMIN, confirm, enterConsole, goTo } from './console';
import { anOrder, consoleSubjects, type Subject } from './console-subjects';

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

const {
  sql,
  unpaid,
  paid,
  closing,
  moneyOnHold,
  changedMoney,
  heldWebhook,
  heldDeadline,
  refundInAttention,
  endpointOff,
  deadDelivery,
  brake,
} = consoleSubjects(() => shop);

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
    ...{ button: 'Correct', title: 'Correct this money', subject: changedMoney },
    ...{ written: 'payment.correct', overtake: endHold, refusal: /not on hold|settle/ },
  },
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

it('says how much was sent of a refund of which others have taken a part', async () => {
  const { page } = visitor;
  const { id, place } = await refundInAttention();
  await sql(
    `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
     SELECT p.order_id, p.id, kind, 'by hand', CASE kind WHEN 'foreign_refund' THEN 100 ELSE r.amount END,
            r.currency, 'webhook'
       FROM refunds r JOIN payments p ON p.id = r.payment_id,
            unnest('{refund_requested,foreign_refund}'::text[]) AS kind WHERE r.id = $1`,
    id,
  );
  const [{ rest }] = (await shop.app.rows<{ rest: number }>(
    'SELECT (amount - 100)::int AS rest FROM refunds WHERE id = $1',
    [id],
  )) as [{ rest: number }];
  await goTo(shop, page, place);
  const row = page.getByRole('row').filter({ has: page.getByLabel(`Copy ${id}`) });
  await row.getByRole('button', { name: 'Settle as done', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('.failure').getByText('others have taken some of its money').waitFor();
  await dialog.getByLabel(/^What was sent/).fill(String(rest));
  await dialog.getByLabel(/^What was sent/).press('Tab');
  await dialog.getByText(`over: ${rest} of it was sent by hand`).waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await confirm(visitor, 'Settle as done');
  await dialog.waitFor({ state: 'hidden' });
  expect(
    await sql(
      'SELECT status, amount::int FROM refunds WHERE status = $1 AND amount = $2',
      'succeeded',
      rest,
    ),
  ).toHaveLength(1);
});

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
