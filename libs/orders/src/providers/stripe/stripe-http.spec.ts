import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StripeProvider } from './stripe.provider';

/* What comes from the address of Stripe, and is not Stripe's: of a proxy, a firewall, a page to log in. */

let server: Server;
let said: { status: number; body: string };
let provider: StripeProvider;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(said.status, { 'content-type': 'application/json' }).end(said.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  provider = new StripeProvider({
    secretKey: 'sk_test_key',
    webhookSecret: 'whsec_secret',
    apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    returnUrl: 'https://shop.example/thanks',
    installation: 'here',
  });
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const paymentId = '0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f';
const payment = {
  ...{ paymentId, providerPaymentId: 'cs_test_1', amount: 1_250, currency: 'EUR' },
  expiresAt: new Date('2026-05-01T10:11:00Z'),
};

it.each([
  { status: 200, body: '{}' },
  { status: 200, body: '[]' },
  { status: 200, body: '{"status":"ok"}' },
  { status: 200, body: 'null' },
  { status: 200, body: '"ok"' },
  { status: 404, body: '0' },
  { status: 404, body: '{"message":"no route"}' },
  { status: 404, body: '{"status":404,"error":"Not Found"}' },
  { status: 200, body: '<html>' },
])('says nothing of any payment: $status $body', async (answer) => {
  said = answer;
  const request = provider.planPayment({ ...payment, now: new Date('2026-05-01T10:00:00Z') });
  const refund = { ...payment, idempotencyKey: 'key' };
  const answers = await Promise.all([
    provider.createPayment({ ...payment, providerPaymentId: null, request }),
    provider.findPayment(payment),
    provider.closePayment(payment),
    provider.refund(refund),
    provider.findRefund('re_1'),
  ]);
  expect(answers.map(({ state }) => state)).toEqual(Array(5).fill('UNKNOWN'));
});
