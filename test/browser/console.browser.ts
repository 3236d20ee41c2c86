import { PageSessions } from '@app/orders';
import type { Browser } from 'playwright-core';
import { type StartedShop, startShop } from '../support/shop';
import { launch, visit, type Visitor } from './browser';

let browser: Browser;
let shop: StartedShop;
let visitor: Visitor;

beforeAll(async () => {
  [browser, shop] = await Promise.all([
    launch(),
    startShop({
      ...{ PAYMENT_WINDOW: '10m', PAYMENT_GRACE: '1m', LATE_PAYMENT: 'hold' },
      ENVIRONMENT: 'test',
    }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});

beforeEach(
  async () => (visitor = await visit(browser, { viewport: { width: 1280, height: 800 } })),
);
afterEach(async () => {
  const { complaints } = visitor;
  await visitor.close();
  expect(complaints).toEqual([]);
});

async function link(scopes = ['ops:read', 'ops:write'], codeLifetimeMs = 60_000): Promise<string> {
  const { code } = await shop.app.app.get(PageSessions).invite({
    ...{ page: 'console', subject: 'olga', scopes },
    ...{ codeLifetimeMs, lifetimeMs: 3_600_000 },
  });
  return `${shop.apiUrl}/console#login=${code}`;
}

async function enter(place = '', scopes?: string[]): Promise<void> {
  const { page } = visitor;
  await page.goto(await link(scopes));
  await page.getByRole('navigation').waitFor();
  if (place) await page.goto(`${shop.apiUrl}/console#/${place}`);
}

/** Fills in the dialog of an action and sends it, as often as it takes (a rehearsal first). */
async function act(title: string, { rehearse = false, reason = 'seen in a test' } = {}) {
  const dialog = visitor.page.getByRole('dialog');
  await dialog.getByRole('textbox').fill(reason);
  if (rehearse) {
    await dialog.getByRole('button', { name: 'Rehearse' }).click();
    await dialog.getByText('A rehearsal says:').waitFor();
    expect(await visitor.barriers()).toEqual([]);
  }
  await dialog.getByRole('button', { name: title }).click();
}

it('lets in by a link, once, in time, and shows how things are', async () => {
  const { page } = visitor;
  for (let i = 0; i < 3; i += 1) await shop.place();
  const url = await link();
  await page.goto(url);
  await page.getByText('Open orders').waitFor();
  expect(page.url()).not.toContain('login');
  expect(await page.getByText('olga').isVisible()).toBe(true);
  expect(await page.locator('.badge').textContent()).toBe('test');
  expect(await visitor.barriers()).toEqual([]);
  await visitor.picture('console-now');
  for (const used of [url, await link(undefined, 1)]) {
    const other = await visit(browser);
    await other.page.goto(used);
    await other.page.getByText('You are not logged in').waitFor();
    expect(await other.barriers()).toEqual([]);
    expect(other.complaints).toEqual([]);
    await other.close();
  }
});

it('finds orders by filters that stand in its address, and closes one', async () => {
  const { page } = visitor;
  const order = await shop.place();
  await enter('orders');
  await page.getByLabel('Status').selectOption('pending_payment');
  await page.getByRole('textbox', { name: 'id', exact: true }).fill(order.id);
  await page.getByRole('button', { name: 'Show' }).click();
  await page.waitForURL(/status=pending_payment&id=/);
  expect(await visitor.barriers()).toEqual([]);
  await page.getByRole('link', { name: order.id.slice(-12) }).click();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  expect(await visitor.barriers()).toEqual([]);
  await act('Close this order');
  await page.getByRole('row', { name: /order.closed.*olga.*seen in a test/ }).waitFor();
  await visitor.picture('console-order');
  expect(await visitor.barriers()).toEqual([]);
});

it('stays where it is and says why, when somebody else was faster', async () => {
  const { page } = visitor;
  const order = await shop.place();
  await enter(`order/${order.id}`);
  await page.getByRole('button', { name: 'Extend' }).click();
  await shop.api('POST', `/v1/orders/${order.id}/cancel`);
  await act('Give ten more minutes');
  await page.getByRole('dialog').getByRole('alert').waitFor();
  expect(await page.getByRole('dialog').getByRole('alert').textContent()).toMatch(/closed/);
});

it('rehearses before money moves, moves it, and writes down who did', async () => {
  const { page } = visitor;
  const { orderId, providerId } = await shop.placeAndCancel();
  await shop.buyerPays(providerId, { afterClose: true });
  await shop.untilDelivered(providerId, 'payment.succeeded');
  await enter('work');
  const row = page.getByRole('row', { name: /payment on hold/ });
  await row.waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await visitor.picture('console-work');
  await row.getByRole('button', { name: 'Refund' }).click();
  await act('Refund this money', { rehearse: true });
  await row.waitFor({ state: 'detached' });
  await shop.untilRefunded(orderId);
  await page.keyboard.press('a');
  await page.getByRole('row', { name: /olga.*payment\.refund.*seen in a test/ }).waitFor();
  expect(await visitor.barriers()).toEqual([]);
});

it('shows who only looks no action, and leaves for good', async () => {
  const { page } = visitor;
  const order = await shop.place();
  await enter(`order/${order.id}`, ['ops:read']);
  await page.getByRole('list', { name: 'The way it took' }).waitFor();
  expect(await page.getByRole('button', { name: 'Close', exact: true }).count()).toBe(0);
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Leave' }).click();
  await page.getByText('You are not logged in').waitFor();
  await page.reload();
  await page.getByText('You are not logged in').waitFor();
});

it('asks nothing while its refresh is off', async () => {
  const { page } = visitor;
  await page.clock.install();
  await enter();
  await page.getByText('Open orders').waitFor();
  await page.getByLabel('refresh').selectOption('off');
  let asked = 0;
  page.on('request', (request) => {
    if (request.url().endsWith('/console/api/now')) asked += 1;
  });
  await page.clock.fastForward('10:00');
  expect(asked).toBe(0);
  await page.getByLabel('refresh').selectOption('1 s');
  const next = page.waitForRequest(/console\/api\/now/);
  await page.clock.fastForward('00:02');
  await next;
});
