import type { Browser } from 'playwright-core';
import { type StartedShop, startShop } from '../support/shop';
import { launch, visit, type Visitor } from './browser';
import { enterConsole } from './console';

let browser: Browser;
let shop: StartedShop;
let visitor: Visitor;

beforeAll(async () => {
  [browser, shop] = await Promise.all([
    launch(),
    startShop({ PAYMENT_WINDOW: '10m', PAYMENT_GRACE: '1m', SAMPLE_SHOP: 'on' }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await shop?.close();
});

beforeEach(async () => (visitor = await visit(browser)));
afterEach(async () => {
  const { complaints } = visitor;
  await visitor.close();
  expect(complaints).toEqual([]);
});

it('shows who comes back to the sample shop an order that can be placed, or none', async () => {
  const { page } = visitor;
  await page.goto(`${shop.apiUrl}/shop`);
  await page.getByRole('spinbutton').first().fill('2');
  await page.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Order' }).click();
  await page.getByRole('link', { name: 'Pay now' }).waitFor();
  await page.goBack();
  const order = page.getByRole('button', { name: 'Order' });
  await order.waitFor();
  const shown = {
    quantity: await page.getByRole('spinbutton').first().inputValue(),
    isQuick: await page.getByRole('checkbox').isChecked(),
    canOrder: await order.isEnabled(),
  };
  expect(shown).toEqual({ quantity: '0', isQuick: false, canOrder: false });
});

it('shows who loads the console anew what it goes by', async () => {
  const { page } = visitor;
  await enterConsole(shop, visitor, 'orders');
  await page.getByLabel('refresh').selectOption('60 s');
  await page.getByLabel('status').selectOption('paid');
  await page.getByLabel('customer').fill('bob');
  await page.reload();
  await page.getByRole('button', { name: 'Show' }).waitFor();
  const shown = {
    refresh: await page.getByLabel('refresh').inputValue(),
    status: await page.getByLabel('status').inputValue(),
    customer: await page.getByLabel('customer').inputValue(),
  };
  expect(shown).toEqual({ refresh: '5', status: '', customer: '' });
});
