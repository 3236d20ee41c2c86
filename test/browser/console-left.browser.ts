import type { Browser, Route } from 'playwright-core';
import { type StartedShop, startShop } from '../support/shop';
import { launch, visit, type Visitor } from './browser';
import { confirm, enterConsole } from './console';

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

afterEach(() => visitor.page.keyboard.press('Escape'));

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

it('shows no answer from before a change after one from behind it', async () => {
  const { page } = visitor;
  const { id } = await shop.place();
  await enterConsole(shop, visitor, `order/${id}`);
  await page.getByRole('button', { name: 'Close', exact: true }).waitFor();
  // Answered by the API before the change, and to the page after it.
  const held = new Promise<() => Promise<void>>((resolve) => {
    const hold = async (route: Route): Promise<void> => {
      const response = await route.fetch();
      resolve(() => route.fulfill({ response }));
    };
    void page.route(`**/orders/${id}*`, hold, { times: 1 });
  });
  await page.getByLabel('refresh').selectOption('1 s');
  const release = await held;
  await page.getByLabel('refresh').selectOption('off');
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await confirm(visitor, 'Close');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  const isOpen = page.getByRole('button', { name: 'Extend' });
  await isOpen.waitFor({ state: 'detached' });
  const arrived = page.waitForEvent('requestfinished', (one) => one.url().includes(id));
  await release();
  await arrived;
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  expect(await isOpen.count()).toBe(0);
});
