import type { Browser } from 'playwright-core';
import { type StartedShop, startShop } from '../support/shop';
import { launch, visit, type Visitor } from './browser';
import { consoleLink, enterConsole } from './console';

let browser: Browser;
let shop: StartedShop;
let visitor: Visitor;

beforeAll(async () => {
  [browser, shop] = await Promise.all([launch(), startShop({ PAYMENT_WINDOW: '10m' })]);
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

const views = () => visitor.page.getByRole('navigation', { name: 'Views' });
const says = (text: string | RegExp) => visitor.page.getByText(text).waitFor();

/** What the console's next question of this kind is answered with, by whoever stands between. */
async function refuseOnce(method: string, status: number, detail: string): Promise<void> {
  let isOver = false;
  await visitor.page.route('**/console/session', (route) => {
    if (isOver || route.request().method() !== method) return route.fallback();
    isOver = true;
    const contentType = 'application/problem+json';
    const body = JSON.stringify({ code: 'told', detail });
    return status === 0 ? route.abort() : route.fulfill({ status, contentType, body });
  });
}

it('says why a link was refused', async () => {
  const { page } = visitor;
  await refuseOnce('POST', 403, 'The console wants HTTPS');
  await page.goto(await consoleLink(shop));
  await says('The console wants HTTPS');
  await says(/You are not logged in/);
  expect(await visitor.barriers()).toEqual([]);
});

it.each([
  ['POST', 503, 'Postgres is away'],
  ['POST', 429, 'That is more than 30 a minute'],
  ['GET', 503, 'Postgres is away'],
  ['GET', 429, 'That is more than 300 requests'],
])('says that its %s was answered %d, and gets in by trying again', async (...refusal) => {
  const { page } = visitor;
  await page.clock.install();
  await refuseOnce(...refusal);
  await page.goto(await consoleLink(shop));
  await says(refusal[2]);
  expect(await page.getByText(/You are not logged in/).count()).toBe(0);
  expect(await visitor.barriers()).toEqual([]);
  await page.clock.fastForward('00:05');
  await views().waitFor();
});

it.each(['POST', 'GET'])('tries again where its %s comes to nobody', async (method) => {
  const { page } = visitor;
  await page.clock.install();
  await refuseOnce(method, 0, '');
  await page.goto(await consoleLink(shop));
  await says(/does not answer/);
  await page.clock.fastForward('00:05');
  await views().waitFor();
});

it('is left also where the session has ended, and says where it cannot be', async () => {
  const { page } = visitor;
  await enterConsole(shop, visitor);
  await refuseOnce('DELETE', 503, 'Postgres is away');
  const leave = page.getByRole('button', { name: 'Leave' });
  await leave.click();
  await page.locator('header').getByText('Postgres is away').waitFor();
  expect(await visitor.barriers()).toEqual([]);
  await visitor.context.clearCookies();
  await leave.click();
  await says(/You are not logged in/);
});
