import { Harness } from './testing/harness';

const sandbox = new Harness();
beforeAll(() => sandbox.start());
afterAll(() => sandbox.stop());

function send(path: string, body: string, contentType = 'application/json'): Promise<Response> {
  const headers = { 'content-type': contentType };
  return fetch(`${sandbox.url}${path}`, { method: 'POST', body, headers });
}

it.each([
  ['broken JSON', '{"amount":', 'application/json', 400, 'invalid_json'],
  ['a poisoned prototype', '{"__proto__":{}}', 'application/json', 400, 'invalid_json'],
  ['no body', '', 'application/json', 400, 'invalid_request'],
  ['another format', '<a/>', 'text/xml', 415, 'unsupported_media_type'],
  ['a huge body', `"${'x'.repeat(33_000)}"`, 'application/json', 413, 'body_too_large'],
])('refuses %s with a problem document', async (_what, body, contentType, status, code) => {
  const answer = await send('/v1/payments', body, contentType);
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  expect(await answer.json()).toMatchObject({ status, code, detail: expect.any(String) });
  expect(answer.status).toBe(status);
});

it.each([
  ['/nowhere', 404, 'route_not_found'],
  ['/v1/payments/%zz', 400, 'bad_request'],
  [`/v1/payments/${'x'.repeat(300)}`, 414, 'bad_request'],
])('answers %s with a problem document', async (path, status, code) => {
  const answer = await sandbox.get(path);
  expect(answer.headers.get('content-type')).toContain('application/problem+json');
  expect(answer.body).toMatchObject({ status, code });
});

it('takes an empty body where nothing has to be said', async () => {
  const id = await sandbox.openPayment();
  expect((await send(`/v1/payments/${id}/close`, '')).status).toBe(200);
});

it('stops although a caller is being kept waiting', async () => {
  await sandbox.faults({ timeoutRate: 1 });
  const held = sandbox.clock.nextTimer();
  const answer = sandbox.get('/v1/payments/pay_0').catch(() => 'dropped');
  await held;
  await sandbox.stopSandbox();
  expect(await answer).toBe('dropped');
});
