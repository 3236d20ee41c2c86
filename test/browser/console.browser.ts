import type { Browser } from 'playwright-core';
import { type StartedShop, startShop } from '../support/shop';
import { until } from '../support/until';
import { launch, visit, type Visitor } from './browser';
import { ADMIN, confirm, consoleLink, enterConsole, goTo, OPERATE, READ } from './console';

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

const enter = (place?: string, scopes?: string[]) => enterConsole(shop, visitor, place, scopes);

/** In the page: true once its first chart has something of this colour. */
function isDrawnIn([red, green, blue]: number[]): boolean {
  const canvas = document.querySelector('canvas');
  if (!canvas) return false;
  const { data } = (canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(
    ...([0, 0, canvas.width, canvas.height] as const),
  );
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) return true;
  }
  return false;
}

it('lets in by a link, once, in time, and shows how things are', async () => {
  const { page } = visitor;
  for (let i = 0; i < 3; i += 1) await shop.place();
  const url = await consoleLink(shop);
  await page.goto(url);
  await page.getByText('Open orders').waitFor();
  expect(page.url()).not.toContain('login');
  expect(await page.getByText('olga').isVisible()).toBe(true);
  expect(await page.locator('.badge').textContent()).toBe('test');
  await page.getByText('No order was closed in the last hour.').waitFor();
  expect(await visitor.barriers()).toEqual([]);
  // Axe has left the page in the dark: bars are in the colour of what can be pressed, as the style has it.
  await page.waitForFunction(isDrawnIn, [142, 197, 255]);
  await visitor.picture('console-now');
  for (const used of [url, await consoleLink(shop, { codeLifetimeMs: 1 })]) {
    const other = await visit(browser);
    await other.page.goto(used);
    await other.page.getByText('You are not logged in').waitFor();
    expect(await other.barriers()).toEqual([]);
    // Another link in the same tab, which then loads nothing anew.
    await other.page.goto(await consoleLink(shop));
    await other.page.getByText('Open orders').waitFor();
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
  await confirm(visitor, 'Close by force');
  await page.getByRole('row', { name: /order.closed.*olga.*seen in a test/ }).waitFor();
  await visitor.picture('console-order');
  expect(await visitor.barriers()).toEqual([]);
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
  await page.getByRole('dialog').getByText('A rehearsal says:').waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await confirm(visitor, 'Refund this money');
  await row.waitFor({ state: 'detached' });
  await shop.untilRefunded(orderId);
  await page.keyboard.press('a');
  await page.getByRole('row', { name: /olga.*payment\.refund.*seen in a test/ }).waitFor();
  expect(await visitor.barriers()).toEqual([]);
});

it('says that timeouts stand still, and lets admins alone resume them', async () => {
  const { page } = visitor;
  await shop.app.rows(
    `INSERT INTO timeout_brakes (cause, kind, due, waiting)
     VALUES ('blast radius', 'payment', 9, 10)`,
  );
  await enter();
  const brake = page.getByRole('region', { name: 'Timeouts stand still' });
  await brake.getByText('Who has the scope ops:admin can resume them.').waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await enterConsole(shop, visitor, '', ADMIN);
  await brake.getByRole('button', { name: 'Resume' }).waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await shop.app.rows('DELETE FROM timeout_brakes');
});

it('pages through the audit by its address', async () => {
  const { page } = visitor;
  await shop.app.rows(
    `INSERT INTO operator_actions (actor, action, subject_kind, subject_id, reason)
     SELECT 'olga', 'refund.retry', 'refund', gen_random_uuid(), 'of long ago'
       FROM generate_series(1, 101)`,
  );
  await enter('audit');
  const rows = page.getByRole('row', { name: /of long ago/ });
  await rows.nth(99).waitFor();
  await page.getByRole('link', { name: 'Older ones' }).click();
  await page.waitForURL(/audit\?cursor=/);
  await rows.nth(1).waitFor({ state: 'detached' });
  expect(await visitor.barriers()).toEqual([]);
  await page.getByRole('link', { name: 'The newest' }).click();
  await rows.nth(99).waitFor();
});

it('shows who only looks no action, and leaves for good', async () => {
  const { page } = visitor;
  const order = await shop.place();
  await enter(`order/${order.id}`, READ);
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

it('takes no code and no change from another origin, be it another port of this host', async () => {
  const { page } = visitor;
  const url = await consoleLink(shop, { scopes: ADMIN });
  const { host } = new URL(shop.apiUrl);
  const elsewhere = [shop.sandboxUrl, shop.sandboxUrl.replace('127.0.0.1', 'localhost')];
  const post = (path: string) =>
    page.evaluate(
      (address) => fetch(address, { method: 'POST', mode: 'no-cors', credentials: 'include' }),
      `http://${host}${path}`,
    );
  const statusOf = async (path: string): Promise<number> => {
    const [answer] = await Promise.all([page.waitForResponse(`http://${host}${path}`), post(path)]);
    return answer.status();
  };
  await enter('', ADMIN);
  for (const origin of elsewhere) {
    await page.goto(`${origin}/health`);
    expect(await statusOf('/console/session')).toBe(403);
    // Another site's request comes without the cookie; another port's comes with it.
    expect([401, 403]).toContain(await statusOf('/console/api/timeouts/resume'));
  }
  await page.goto(url);
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
});

it('lets admins end sessions, and shows them the queue board under the same session', async () => {
  const { page } = visitor;
  const other = await visit(browser);
  await enterConsole(shop, other, '', OPERATE);
  await enter('audit', ADMIN);
  const sessions = page.getByRole('table', { name: 'Who is logged in' });
  await sessions
    .getByRole('row', { name: /olga ops:read ops:write / })
    .first()
    .waitFor();
  const rows = sessions.getByRole('row').filter({ hasNotText: 'ops:admin' });
  const open = await rows.getByRole('button', { name: 'End' }).count();
  for (let left = open; left > 0; left -= 1) {
    await rows.getByRole('button', { name: 'End' }).first().click();
    await until(
      'it is gone',
      async () => (await rows.getByRole('button', { name: 'End' }).count()) < left,
    );
  }
  expect(await visitor.barriers()).toEqual([]);
  await other.page.reload();
  await other.page.getByText('You are not logged in').waitFor();
  await other.close();
  // A page of somebody else's, under a policy of its own, which lets none of its fonts in.
  const board = await visitor.context.newPage();
  await board.goto(`${shop.apiUrl}/v1/ops/queues`);
  await board.getByText('lastcall alarms').first().waitFor();
});

it('says so where nothing is found, and where the server does not answer', async () => {
  const { page } = visitor;
  await enter('orders?customer=nobody');
  await page.getByText('No order matches.').waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await page.route('**/console/api/audit*', (route) => route.fulfill({ status: 503 }));
  await goTo(shop, page, 'audit');
  await page.getByRole('alert').waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await page.unroute('**/console/api/audit*');
  const { id } = await shop.place();
  for (const place of [`order/${id}`, 'now', 'work', 'audit', 'orders']) {
    await page.setViewportSize({ width: 320, height: 640 });
    await goTo(shop, page, place);
    await page.getByRole('heading', { level: 1, name: place.split('/')[0] as string }).waitFor();
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    ).toBe(true);
    expect(await visitor.barriers()).toEqual([]);
  }
});
