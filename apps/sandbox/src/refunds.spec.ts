import { Harness } from './testing/harness';

const REFUND_DELAY_MS = 50;
const sandbox = new Harness();
const { receiver, clock } = sandbox;

beforeAll(() => sandbox.start());
afterAll(() => sandbox.stop());
beforeEach(() => sandbox.call('DELETE', '/v1/faults'));

let keys = 0;
function refundOf(paymentId: string, amount: number): Record<string, unknown> {
  keys += 1;
  return { paymentId, amount, idempotencyKey: `key-${keys}` };
}

it('accepts a refund as pending, settles it a little later and says so', async () => {
  const paymentId = await sandbox.paidPayment();
  const wanted = refundOf(paymentId, 500);
  const { status, body } = await sandbox.post('/v1/refunds', wanted);
  expect(status).toBe(201);
  expect(body).toEqual({
    ...wanted,
    id: expect.stringMatching(/^re_[0-9a-f]{32}$/),
    currency: 'EUR',
    status: 'pending',
    createdAt: sandbox.inMs(0),
    settledAt: null,
    failureReason: null,
  });
  clock.advance(REFUND_DELAY_MS);
  const { type, data } = await receiver.next();
  expect(type).toBe('refund.succeeded');
  expect(data).toEqual({
    providerPaymentId: paymentId,
    reference: expect.any(String),
    amount: 500,
    currency: 'EUR',
    paidAt: expect.any(String),
    refundId: body.id,
    idempotencyKey: wanted['idempotencyKey'],
    failureReason: null,
  });
  const settled = { ...body, status: 'succeeded', settledAt: sandbox.inMs(0) };
  expect((await sandbox.get(`/v1/refunds/${body.id}`)).body).toEqual(settled);
  expect((await sandbox.get(`/v1/payments/${paymentId}`)).body.refunds).toEqual([settled]);
});

it('answers a repeated key with the same refund, and refuses it for another one', async () => {
  const wanted = refundOf(await sandbox.paidPayment(), 500);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => sandbox.post('/v1/refunds', wanted)),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  const reused = await sandbox.post('/v1/refunds', { ...wanted, amount: 501 });
  expect([reused.status, reused.body.code]).toEqual([409, 'idempotency_key_reused']);
  clock.advance(REFUND_DELAY_MS);
  await receiver.next();
});

it('never gives back more than was captured, however many ask at once', async () => {
  const paymentId = await sandbox.paidPayment();
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => sandbox.post('/v1/refunds', refundOf(paymentId, 999))),
  );
  const refused = answers.filter(({ status }) => status === 409);
  expect(refused.map(({ body }) => body.code)).toEqual(Array(3).fill('refund_exceeds_captured'));
  expect((await sandbox.post('/v1/refunds', refundOf(paymentId, 2))).status).toBe(409);
  expect((await sandbox.post('/v1/refunds', refundOf(paymentId, 1))).status).toBe(201);
  clock.advance(REFUND_DELAY_MS);
  await receiver.take(3);
});

it('lets refunds fail after they were accepted, which frees the amount again', async () => {
  const paymentId = await sandbox.paidPayment();
  await sandbox.faults({ failRefunds: true, refundDelayMs: 5000 });
  const { status, body } = await sandbox.post('/v1/refunds', refundOf(paymentId, 1999));
  expect([status, body.status]).toEqual([201, 'pending']);
  clock.advance(5000);
  const { type, data } = await receiver.next();
  expect(type).toBe('refund.failed');
  expect(data).toMatchObject({ refundId: body.id, failureReason: 'declined_by_bank' });
  const failed = (await sandbox.get(`/v1/refunds/${body.id}`)).body;
  expect(failed).toMatchObject({ status: 'failed', failureReason: 'declined_by_bank' });

  await sandbox.call('DELETE', '/v1/faults');
  const again = await sandbox.post('/v1/refunds', refundOf(paymentId, 1999));
  expect(again.status).toBe(201);
  clock.advance(REFUND_DELAY_MS);
  expect((await receiver.next()).type).toBe('refund.succeeded');
});

it('refuses what was not paid, what is unknown and what is malformed', async () => {
  const open = await sandbox.post('/v1/refunds', refundOf(await sandbox.openPayment(), 1));
  expect([open.status, open.body.code]).toEqual([409, 'payment_not_paid']);
  const unknown = await sandbox.post('/v1/refunds', refundOf('pay_0', 1));
  expect([unknown.status, unknown.body.code]).toEqual([404, 'payment_not_found']);
  const malformed = await sandbox.post('/v1/refunds', { amount: -1, paymentId: 'pay_0' });
  const fields = malformed.body.errors.map(({ field }: { field: string }) => field);
  expect(fields.sort()).toEqual(['amount', 'idempotencyKey']);
  expect((await sandbox.get('/v1/refunds/re_0')).body.code).toBe('refund_not_found');
});
