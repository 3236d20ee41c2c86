import type { Browser } from 'playwright-core';
import { type StartedShop, startShop } from '../support/shop';
import { launch, visit, type Visitor } from './browser';

let browser: Browser;
let shop: StartedShop;
let visitor: Visitor;

beforeAll(async () => {
  [browser, shop] = await Promise.all([
    launch(),
    startShop({ PAYMENT_WINDOW: '10m', PAYMENT_GRACE: '1m', CUSTOMER_EXTENSION: '1m' }),
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

const untilSays = (name: string) => visitor.page.getByRole('heading', { level: 1, name }).waitFor();

/** What a limit, or whoever stands between, answers to the page's next request for `address`. */
async function refuseOnce(address: RegExp, status: number): Promise<void> {
  const headers = { 'retry-after': '1' };
  await visitor.page.route(address, (route) => route.fulfill({ status, headers }), { times: 1 });
}

/** So many seconds are left to pay, and a minute more until the order closes. */
const endIn = (id: string, seconds: number): Promise<unknown> =>
  shop.app.rows(
    `UPDATE orders SET pay_by = now() + make_interval(secs => $2),
            closes_at = now() + make_interval(secs => $2 + 60) WHERE id = $1`,
    [id, seconds],
  );

const checkoutUrl = async (id: string): Promise<string> =>
  (await shop.api<{ url: string }>('POST', `/v1/orders/${id}/checkout-link`)).url;

it.each([429, 408])(
  'follows the order after its first question was refused with %d',
  async (status) => {
    const { page } = visitor;
    const { id } = await shop.place();
    await refuseOnce(/\/v1\/orders\/[^/]+$/, status);
    const refused = page.waitForResponse((answer) => answer.status() === status);
    await page.goto(await checkoutUrl(id));
    await refused;
    await shop.api('POST', `/v1/orders/${id}/cancel`);
    await untilSays('This order was closed');
  },
);

it('asks no more once its session is over', async () => {
  const { page } = visitor;
  await page.clock.install();
  const { id } = await shop.place();
  let asked = 0;
  await page.route(/\/v1\/orders\/[^/]+$/, (route) => {
    asked += 1;
    return route.fulfill({ status: 401 });
  });
  await page.goto(await checkoutUrl(id));
  await page.waitForResponse((answer) => answer.status() === 401);
  await page.clock.fastForward('01:00');
  await untilSays('Your order is waiting for your payment');
  expect(asked).toBe(1);
});

it.each([429, 502])(
  'offers more time again after an answer of %d, and gives it',
  async (status) => {
    const { page } = visitor;
    const { id } = await shop.place();
    await endIn(id, 115);
    await refuseOnce(/\/extension$/, status);
    await page.goto(await checkoutUrl(id));
    await page.getByRole('button', { name: 'Give me more time' }).click();
    await page.getByRole('dialog').getByText('That did not work. Please try again.').waitFor();
    expect(await visitor.barriers()).toEqual([]);
    await page.getByRole('button', { name: 'Give me more time' }).click();
    await page.locator('.left time', { hasText: /^2:\d\d$/ }).waitFor();
    // Near the end again it is more than the shop gives, and stays so.
    await shop.app.rows(`UPDATE orders SET pay_by = now() + interval '110 s' WHERE id = $1`, [id]);
    await page.reload();
    await page.getByRole('button', { name: 'Give me more time' }).click();
    await page.getByText('More time cannot be given. What is left goes on.').waitFor();
    expect(await page.getByRole('dialog').isVisible()).toBe(false);
  },
);

/** Nobody answers the page's next request for `address`; resolves once it is asked. */
async function silenceOnce(address: RegExp): Promise<{ readonly asked: Promise<unknown> }> {
  await visitor.page.clock.install();
  await visitor.page.route(address, () => undefined, { times: 1 });
  return { asked: visitor.page.waitForRequest(address) };
}

it('asks for more time anew where no answer comes, and gets it', async () => {
  const { page } = visitor;
  const { id } = await shop.place();
  await endIn(id, 115);
  const { asked } = await silenceOnce(/\/extension$/);
  await page.goto(await checkoutUrl(id));
  await page.getByRole('button', { name: 'Give me more time' }).click();
  await asked;
  await page.clock.fastForward('00:15');
  await page.locator('.left time', { hasText: /^2:\d\d$/ }).waitFor();
});

it('says that the same was not ordered again where no answer comes', async () => {
  const { page } = visitor;
  const { id } = await shop.place();
  await shop.api('POST', `/v1/orders/${id}/cancel`);
  const { asked } = await silenceOnce(/\/again$/);
  await page.goto(await checkoutUrl(id));
  await page.getByRole('button', { name: 'Order the same again' }).click();
  await asked;
  await page.clock.fastForward('00:15');
  await page.getByText('That did not work. Please try again.').waitFor();
  await page.getByRole('button', { name: 'Order the same again' }).click();
  await untilSays('Your order is waiting for your payment');
});

it('offers more time near each end, also where it is given in portions of less than two minutes', async () => {
  const { page } = visitor;
  const { id } = await shop.place();
  await page.clock.install();
  await endIn(id, 15);
  await page.goto(await checkoutUrl(id));
  await page.getByRole('button', { name: 'Give me more time' }).click();
  await page.locator('.left time', { hasText: /^1:\d\d$/ }).waitFor();
  expect(await page.getByRole('dialog').isVisible()).toBe(false);
  await page.clock.fastForward('00:45');
  await page.getByRole('button', { name: 'Give me more time' }).waitFor();
});

it('shows the close, and goes on doing so where an older answer comes after it', async () => {
  const { page } = visitor;
  const { id } = await shop.place();
  await endIn(id, 115);
  let answer: () => void = () => undefined;
  const isHeld = new Promise<void>((resolve) => {
    void page.route(/\/extension$/, async (route) => {
      // What the browser adds to it by itself comes to no route.
      const headers = { ...route.request().headers(), 'sec-fetch-site': 'same-origin' };
      const response = await route.fetch({ headers });
      expect(response.status()).toBe(200);
      answer = () => void route.fulfill({ response });
      resolve();
    });
  });
  await page.goto(await checkoutUrl(id));
  await page.getByRole('button', { name: 'Give me more time' }).click();
  await isHeld;
  await shop.api('POST', `/v1/orders/${id}/cancel`);
  await untilSays('This order was closed');
  const told = page.waitForResponse(/\/extension$/).then((response) => response.finished());
  answer();
  await told;
  // Answered after it, and so the page has taken it by then.
  await page.evaluate(async () => {
    await (await fetch('/health/live')).text();
    await new Promise((resolve) => setTimeout(resolve));
  });
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('This order was closed');
});
