import type { Browser, Route } from 'playwright-core';
import { type StartedShop, startShop } from '../support/shop';
import { launch, visit, type Visitor } from './browser';
import { enterConsole } from './console';

let browser: Browser;
let shop: StartedShop;
let visitor: Visitor;

beforeAll(async () => {
  [browser, shop] = await Promise.all([launch(), startShop({ PAYMENT_WINDOW: '10m' })]);
  visitor = await visit(browser);
});
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});

it('says of a change nothing that became of another, whose dialog was left', async () => {
  const { page } = visitor;
  const { id } = await shop.place();
  await enterConsole(shop, visitor, `order/${id}`);
  const isLost = page.waitForEvent('requestfailed');
  const held = new Promise<Route>((resolve) => {
    void page.route('**/console/api/actions', resolve, { times: 1 });
  });
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Rehearsing').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Extend' }).click();
  await dialog.getByText('A rehearsal says:').waitFor();
  await (await held).abort();
  await isLost;
  // What it says is on the page as soon as the browser has painted again.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  expect(await dialog.getByRole('alert').count()).toBe(0);
});
