import type { Browser } from 'playwright-core';
import { Harness } from '../../apps/sandbox/src/testing/harness';
import { launch, visit, type Visitor } from './browser';

let browser: Browser;
let visitor: Visitor;
const sandbox = new Harness();

beforeAll(async () => {
  [browser] = await Promise.all([launch(), sandbox.start()]);
  visitor = await visit(browser);
});
afterAll(async () => {
  await browser?.close();
  await sandbox.stop();
});

it.each([
  [10 * 60_000, /^(10:00|9:\d\d)$/],
  [2 * 86_400_000, /^(48:00:00|47:5\d:\d\d)$/],
])('counts down from %d ms', async (leftMs, digits) => {
  const id = await sandbox.openPayment({ payBy: sandbox.inMs(leftMs) });
  await visitor.page.goto(`${sandbox.url}/pay/${id}`);
  await visitor.page.getByRole('timer').filter({ hasText: digits }).waitFor();
});
