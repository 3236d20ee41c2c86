import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { type StartedShop, startShop } from '../support/shop';
import { startTcpProxy } from '../support/tcp-proxy';
import { launch, visit, type Visitor } from './browser';

let browser: Browser;
let shop: StartedShop;
let visitor: Visitor;

beforeAll(async () => {
  [browser, shop] = await Promise.all([
    launch(),
    startShop({
      ...{ PAYMENT_WINDOW: '10m', PAYMENT_GRACE: '1m', SAMPLE_SHOP: 'on' },
      CUSTOMER_EXTENSION: '1m',
    }),
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

const headline = (who = visitor) => who.page.getByRole('heading', { level: 1 });

async function untilSays(text: string, who = visitor): Promise<void> {
  await who.page.getByRole('heading', { level: 1, name: text }).waitFor();
}

/** An order of the API's, and its checkout in this browser. */
async function openCheckout(who = visitor, query = ''): Promise<string> {
  const order = await shop.place();
  const { url } = await shop.api<{ url: string }>('POST', `/v1/orders/${order.id}/checkout-link`);
  await who.page.goto(url + query);
  return order.id;
}

it('takes a newcomer from the sample shop to a paid order', async () => {
  const { page } = visitor;
  await page.goto(`${shop.apiUrl}/shop`);
  await page.getByRole('spinbutton').first().fill('2');
  await page.getByText(/Earl Grey, 100 g · €\d+\.\d\d/).waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await page.getByRole('button', { name: 'Order' }).click();
  await untilSays('Your order is waiting for your payment');
  // The code has been used, and stands in no address that is copied.
  expect(new URL(page.url()).search).toBe('');
  expect(await visitor.barriers()).toEqual([]);
  await visitor.picture('checkout-waiting');
  await page.getByRole('link', { name: 'Pay now' }).click();
  await page.getByRole('button', { name: 'Pay now' }).click();
  await page.getByRole('link', { name: 'Back to the shop' }).click();
  await untilSays('Paid. Thank you!');
  expect(await visitor.barriers()).toEqual([]);
  await visitor.picture('checkout-paid');
});

it('counts down by the server, asks at zero, and shows the close; the copy is a new order', async () => {
  const { page } = visitor;
  await page.clock.install();
  // The stream begins with what has happened so far, and the page asks once more.
  const asked = page.waitForResponse(/\/v1\/orders\/[^/]+$/);
  const id = await openCheckout();
  await asked;
  await page.locator('.left time', { hasText: /^(10:00|9:[3-5]\d)$/ }).waitFor();
  expect(await page.locator('.heard').textContent()).toBe('');
  // Nobody puts the countdown right meanwhile: so it runs by its own clock alone.
  const away = /\/v1\/orders\//;
  await page.route(away, (route) => route.abort());
  await page.clock.fastForward('05:10');
  await page.locator('.heard', { hasText: '5 minutes left to pay' }).waitFor({ state: 'attached' });
  await page.clock.fastForward('03:00');
  await page.getByRole('button', { name: 'No, thank you' }).click();
  await page.unroute(away);
  await page.clock.fastForward('02:00');
  // Whatever the browser's clock says: the server has minutes left, and its answer counts.
  await page.locator('.left time', { hasText: /^(10:00|9:\d\d)$/ }).waitFor();
  await shop.passDeadline([id]);
  await page.clock.fastForward('10:00');
  await untilSays('This order was closed');
  expect(await visitor.barriers()).toEqual([]);
  await visitor.picture('checkout-closed');
  await page.getByRole('button', { name: 'Order the same again' }).click();
  await untilSays('Your order is waiting for your payment');
  expect(page.url()).not.toContain(id);
});

it('tells of grace as what it is, and takes a payment of the last second', async () => {
  const id = await openCheckout();
  await untilSays('Your order is waiting for your payment');
  const { providerPaymentId } = await shop.startPayment(id);
  await shop.app.rows(`UPDATE orders SET pay_by = now() - interval '1 s' WHERE id = $1`, [id]);
  await visitor.page.reload();
  await untilSays('We are checking whether your payment arrived');
  expect(await visitor.barriers()).toEqual([]);
  await shop.buyerPays(providerPaymentId as string);
  await untilSays('Paid. Thank you!');
});

it('says that a late payment is on its way back', async () => {
  const { orderId, providerId } = await shop.placeAndCancel();
  const path = `/v1/orders/${orderId}/checkout-link`;
  const { url } = await shop.api<{ url: string }>('POST', path);
  await visitor.page.goto(url);
  await untilSays('This order was closed');
  await shop.buyerPays(providerId, { afterClose: true });
  await shop.untilRefunded(orderId);
  await visitor.page.reload();
  await untilSays('Your money is on its way back');
  expect(await visitor.barriers()).toEqual([]);
});

it('says that somebody pays elsewhere, and that money waits for the shop', async () => {
  const id = await openCheckout();
  await shop.startPayment(id);
  await visitor.page.reload();
  await visitor.page.getByRole('link', { name: 'Go on paying' }).waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await shop.api('POST', `/v1/orders/${id}/cancel`);
  await untilSays('This order was closed');
  await shop.app.rows(`UPDATE payments SET hold_reason = 'late_payment' WHERE order_id = $1`, [id]);
  await visitor.page.reload();
  await visitor.page.locator('.state-held').waitFor();
  expect(await visitor.barriers()).toEqual([]);
});

it('polls where no stream opens', async () => {
  await visitor.page.route('**/events', (route) => route.abort());
  const id = await openCheckout();
  await untilSays('Your order is waiting for your payment');
  await shop.api('POST', `/v1/orders/${id}/cancel`);
  await untilSays('This order was closed');
});

it('outlives a server that goes away and comes back', async () => {
  const proxy = await startTcpProxy(shop.apiUrl);
  try {
    const order = await shop.place();
    const { url } = await shop.api<{ url: string }>('POST', `/v1/orders/${order.id}/checkout-link`);
    const through = new URL(url);
    through.port = new URL(proxy.url).port;
    await visitor.page.goto(through.href);
    await untilSays('Your order is waiting for your payment');
    await proxy.cut();
    await visitor.page.getByText('No connection: trying again').waitFor();
    expect(await visitor.barriers()).toEqual([]);
    await shop.api('POST', `/v1/orders/${order.id}/cancel`);
    await proxy.restore();
    await untilSays('This order was closed');
    await visitor.page.getByText('No connection: trying again').waitFor({ state: 'detached' });
  } finally {
    await proxy.close();
  }
});

it('comes to a page that could not be shown, by itself', async () => {
  const holder = new Client({ connectionString: shop.app.ownerUrl });
  await holder.connect();
  const order = await shop.place();
  const { url } = await shop.api<{ url: string }>('POST', `/v1/orders/${order.id}/checkout-link`);
  try {
    await holder.query('BEGIN; LOCK TABLE lastcall.orders');
    await visitor.page.goto(url);
    await untilSays('One moment, please');
    expect(await visitor.barriers()).toEqual([]);
  } finally {
    await holder.end();
  }
  await untilSays('Your order is waiting for your payment');
});

it('shows two tabs the same', async () => {
  const id = await openCheckout();
  await untilSays('Your order is waiting for your payment');
  const second = await visitor.context.newPage();
  visitor.listen(second);
  await second.goto(`${shop.apiUrl}/checkout/${id}`);
  await shop.api('POST', `/v1/orders/${id}/cancel`);
  await untilSays('This order was closed');
  await second.getByRole('heading', { name: 'This order was closed' }).waitFor();
});

it('offers more time before the end, and gives it', async () => {
  const { page } = visitor;
  const id = await openCheckout();
  await untilSays('Your order is waiting for your payment');
  await shop.app.rows(
    `UPDATE orders SET pay_by = now() + interval '115 s', closes_at = now() + interval '175 s'
      WHERE id = $1`,
    [id],
  );
  await page.reload();
  await page.getByRole('dialog').waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await page.getByRole('button', { name: 'Give me more time' }).click();
  await page.locator('.left time', { hasText: /^2:\d\d$/ }).waitFor();
});

it('works without JavaScript', async () => {
  const plain = await visit(browser, { javaScriptEnabled: false });
  try {
    await openCheckout(plain);
    await untilSays('Your order is waiting for your payment', plain);
    await plain.page.getByRole('link', { name: 'Pay now' }).click();
    await plain.page.getByRole('button', { name: 'Pay now' }).waitFor();
    expect(plain.page.url()).toContain(shop.sandboxUrl);
  } finally {
    await plain.close();
  }
});

it.each([
  ['de', 'ltr', 'Ein Beispielshop', 'Bestellen', 'Ihre Bestellung wartet auf die Zahlung'],
  ['zh', 'ltr', '示例商店', '下单', '您的订单正在等待付款'],
  ['ar', 'rtl', 'متجر تجريبي', 'اطلب', 'طلبك في انتظار الدفع'],
])('speaks %s, on 320 pixels too', async (language, direction, title, order, text) => {
  const { page } = visitor;
  await page.setViewportSize({ width: 320, height: 568 });
  await page.goto(`${shop.apiUrl}/shop?lang=${language}`);
  await untilSays(title);
  await page.getByRole('spinbutton').first().fill('1');
  await page.getByRole('button', { name: order }).click();
  await untilSays(text);
  expect(await visitor.page.locator('html').getAttribute('dir')).toBe(direction);
  expect(
    await visitor.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
  ).toBe(true);
  expect(await visitor.barriers()).toEqual([]);
});

it('opens a link in one browser only', async () => {
  const order = await shop.place();
  const { url } = await shop.api<{ url: string }>('POST', `/v1/orders/${order.id}/checkout-link`);
  await visitor.page.goto(url);
  await untilSays('Your order is waiting for your payment');
  const other = await visit(browser);
  try {
    await other.page.goto(url);
    expect(await headline(other).textContent()).toBe('This link is over');
    expect(await other.barriers()).toEqual([]);
  } finally {
    await other.close();
  }
});
