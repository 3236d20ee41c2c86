import { Harness } from './testing/harness';

const sandbox = new Harness();
const { receiver, clock } = sandbox;
beforeAll(() => sandbox.start());
afterAll(() => sandbox.stop());

it('takes the money of a dispute away, says so, and gives it back when the merchant wins', async () => {
  const paymentId = await sandbox.paidPayment();
  const { status, body } = await sandbox.post(`/v1/payments/${paymentId}/dispute`);
  expect(status).toBe(201);
  expect(body).toMatchObject({ paymentId, amount: 1999, status: 'open' });
  const opened = await receiver.next();
  expect(opened.type).toBe('dispute.opened');
  expect(opened.data).toMatchObject({ providerPaymentId: paymentId, disputeId: body.id });
  const refused = await sandbox.post('/v1/refunds', {
    ...{ paymentId, amount: 1, idempotencyKey: 'disputed' },
  });
  expect(refused.body).toMatchObject({ code: 'refund_exceeds_captured' });
  expect((await sandbox.post(`/v1/disputes/${String(body.id)}/win`)).body.status).toBe('won');
  expect((await receiver.next()).type).toBe('dispute.won');
  const again = await sandbox.post(`/v1/disputes/${String(body.id)}/lose`);
  expect(again.body).toMatchObject({ code: 'dispute_decided' });
  const { body: payment } = await sandbox.get(`/v1/payments/${paymentId}`);
  expect(payment.disputes).toEqual([expect.objectContaining({ status: 'won' })]);
});

it('gives back a part of a dispute that is lost, which can be refunded then', async () => {
  const paymentId = await sandbox.paidPayment();
  const { body } = await sandbox.post(`/v1/payments/${paymentId}/dispute`);
  await receiver.next();
  const lose = (returned: number) =>
    sandbox.post(`/v1/disputes/${String(body.id)}/lose`, { returned });
  expect((await lose(2_000)).body).toMatchObject({ code: 'returned_exceeds_disputed' });
  expect((await lose(500)).body).toMatchObject({ status: 'lost', returned: 500 });
  expect((await receiver.next()).data).toMatchObject({ amount: 1999, returned: 500 });
  const refund = (amount: number) =>
    sandbox.post('/v1/refunds', { paymentId, amount, idempotencyKey: `of-${amount}` });
  expect((await refund(501)).body).toMatchObject({ code: 'refund_exceeds_captured' });
  expect((await refund(500)).status).toBe(201);
  clock.advance(50);
  expect((await receiver.next()).type).toBe('refund.succeeded');
});

it('refunds by hand what is left, without a key, and tells of a refund that came back', async () => {
  const paymentId = await sandbox.paidPayment();
  const { body } = await sandbox.post(`/v1/payments/${paymentId}/refund`);
  expect(body).toMatchObject({ amount: 1999, idempotencyKey: null, status: 'pending' });
  clock.advance(50);
  expect((await receiver.next()).data).toMatchObject({ refundId: body.id, idempotencyKey: null });
  expect((await sandbox.post(`/v1/payments/${paymentId}/refund`)).status).toBe(409);
  const since = sandbox.inMs(60_000);
  clock.advance(60_000);
  const failed = await sandbox.post(`/v1/refunds/${String(body.id)}/fail`);
  expect(failed.body).toMatchObject({ status: 'failed', failureReason: 'account_closed' });
  expect((await receiver.next()).type).toBe('refund.failed');
  // The payment is older than `since`, and its refund has changed since.
  const { body: ledger } = await sandbox.get(`/v1/ledger?since=${encodeURIComponent(since)}`);
  expect(ledger.payments).toEqual([expect.objectContaining({ id: paymentId })]);
});
