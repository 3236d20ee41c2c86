import type { Browser } from 'playwright-core';
import { insertOldOrders } from '../support/insert-old-orders';
import { type StartedShop, startShop } from '../support/shop';
import { launch, visit, type Visitor } from './browser';
import { enterConsole, goTo } from './console';

/** As many as one page of the API looks at, of which few match. */
const LOOKED_AT = 20_000;

let browser: Browser;
let shop: StartedShop;
let visitor: Visitor;

beforeAll(async () => {
  [browser, shop] = await Promise.all([
    launch(),
    startShop({ PAYMENT_WINDOW: '10m', PAYMENT_GRACE: '1m' }),
  ]);
  const newestAt = new Date(Date.now() - 86_400_000);
  await insertOldOrders(shop.app, { count: 2 * LOOKED_AT + 500, newestAt, apartMs: 1_000 });
  visitor = await visit(browser, { viewport: { width: 1280, height: 800 } });
  await enterConsole(shop, visitor);
});
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});
afterEach(async () => {
  await visitor.page.keyboard.press('Escape');
  expect(visitor.complaints.splice(0)).toEqual([]);
});

/** So many orders wait for their payment, the newest of them behind so many newer ones. */
const opened = (count: number, behind: number) =>
  shop.app.rows(
    `UPDATE orders SET status = 'pending_payment', close_reason = NULL, closed_at = NULL,
                       closes_at = now() + interval '1 day'
      WHERE id IN (SELECT id FROM orders ORDER BY id DESC OFFSET $2 LIMIT $1)`,
    [count, behind],
  );

/** What is said of all that match, once it is known how many these are. */
async function proposal(): Promise<string> {
  const { page } = visitor;
  await page.getByRole('button', { name: 'Close all that match' }).click();
  await page.getByLabel(/How many these are/).waitFor();
  return page.getByRole('dialog').innerText();
}

it('says that none has matched so far, where there are older ones to look at', async () => {
  const { page } = visitor;
  await goTo(shop, page, 'orders?status=paid');
  await page.getByRole('link', { name: 'Older ones' }).waitFor();
  await page.getByText('No order matches so far; older ones may.').waitFor();
  await page.getByRole('link', { name: 'Older ones' }).click();
  await page.waitForURL(/cursor=/);
  await page.getByRole('link', { name: 'Older ones' }).click();
  await page.getByText('No older order matches.').waitFor();
});

it('tells of orders that one change does not take, however they are spread', async () => {
  for (const behind of [0, LOOKED_AT, 2 * LOOKED_AT]) await opened(70, behind);
  await goTo(shop, visitor.page, 'orders?status=pending_payment');
  expect(await proposal()).toContain('These are the newest 200; others may match as well.');
});

it('tells of newer ones on the pages before', async () => {
  const { page } = visitor;
  await goTo(shop, page, 'orders?status=pending_payment');
  await page.getByRole('link', { name: 'Older ones' }).click();
  await page.waitForURL(/cursor=/);
  const said = 'These are 160 from this page on; newer ones may match as well.';
  expect(await proposal()).toContain(said);
});
