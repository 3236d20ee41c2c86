import { formatAmount } from './pay-page';
import { Harness } from './testing/harness';

const sandbox = new Harness();
beforeAll(() => sandbox.start());
afterAll(() => sandbox.stop());

async function pageOf(id: string): Promise<string> {
  return (await fetch(`${sandbox.url}/pay/${id}`)).text();
}

function press(id: string, button: 'pay' | 'fail'): Promise<Response> {
  return fetch(`${sandbox.url}/pay/${id}/${button}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    redirect: 'manual',
  });
}

it('shows what is to be paid, how long it can be, and a button', async () => {
  const expiresAt = sandbox.inMs(600_000);
  const page = await pageOf(await sandbox.openPayment({ reference: 'order 7', expiresAt }));
  for (const part of ['€19.99', 'order 7', 'data-left-ms="600000"', 'Pay now']) {
    expect(page).toContain(part);
  }
});

it('counts down to the end of the window, shows the lines and the way back', async () => {
  const id = await sandbox.openPayment({
    amount: 2500,
    expiresAt: sandbox.inMs(660_000),
    payBy: sandbox.inMs(600_000),
    lines: [{ name: 'Tea <b>', quantity: 2, unitPrice: 1250 }],
    successUrl: 'https://shop.test/?result=success',
    cancelUrl: 'https://shop.test/?a=1&result=cancel',
  });
  const page = await pageOf(id);
  for (const part of ['data-left-ms="600000"', '2 × Tea &lt;b&gt;', '€25.00']) {
    expect(page).toContain(part);
  }
  expect(page).toContain('href="https://shop.test/?a=1&amp;result=cancel"');
  await press(id, 'pay');
  expect(await pageOf(id)).toContain('href="https://shop.test/?result=success"');
});

it('takes no payment any more on the page once the window is over, before it expires', async () => {
  const times = { expiresAt: sandbox.inMs(60_000), payBy: sandbox.inMs(0) };
  const page = await pageOf(await sandbox.openPayment(times));
  expect(page).not.toContain('Pay now');
});

it('lets nothing from outside become markup', async () => {
  const reference = `"><script>alert('x')</script>&`;
  const page = await pageOf(await sandbox.openPayment({ reference }));
  expect(page).not.toContain('<script>alert');
  expect(page).toContain('&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;');
});

it('needs nothing from elsewhere and allows nothing else to run', async () => {
  const answer = await fetch(`${sandbox.url}/pay/${await sandbox.openPayment()}`);
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(await answer.text()).not.toMatch(/https?:\/\//);
});

it('pays by a plain form and shows the outcome', async () => {
  const id = await sandbox.openPayment();
  const answer = await press(id, 'pay');
  expect([answer.status, answer.headers.get('location')]).toEqual([303, `/pay/${id}`]);
  const page = await pageOf(id);
  expect(page).toContain('<h1 role="status">Paid</h1>');
  expect(page).not.toContain('<button');
  expect((await sandbox.get(`/pay/${id}/status`)).body).toMatchObject({ status: 'paid' });
});

it('shows that the payment was closed meanwhile', async () => {
  const id = await sandbox.openPayment();
  await sandbox.post(`/v1/payments/${id}/close`);
  expect((await press(id, 'pay')).status).toBe(303);
  expect(await pageOf(id)).toContain('can no longer be paid');
});

it('lets the payment fail', async () => {
  const id = await sandbox.openPayment();
  await press(id, 'fail');
  expect(await pageOf(id)).toContain('Payment failed');
});

it('answers an unknown payment with 404', async () => {
  expect((await fetch(`${sandbox.url}/pay/pay_0`)).status).toBe(404);
  expect((await press('pay_0', 'pay')).status).toBe(404);
});

it.each([
  [1999, 'EUR', '€19.99'],
  [500, 'JPY', '¥500'],
  [1234, 'KWD', 'KWD 1.234'],
  [1234, 'HUF', 'HUF 12.34'],
])('writes %d %s as %s', (amount, currency, text) => {
  expect(formatAmount(amount, currency).replace('\u00a0', ' ')).toBe(text);
});
