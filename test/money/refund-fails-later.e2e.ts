import { TimeoutService } from '@app/timeout';
import { WEBHOOK_SECRET } from '../support/app';
import { sendWebhook } from '../support/send-webhook';
import { type StartedShop, startShop } from '../support/shop';
import { until } from '../support/until';

describe('a refund that fails', () => {
  let shop: StartedShop;

  beforeAll(async () => {
    shop = await startShop();
  });
  afterAll(() => shop?.close());
  afterEach(() => shop.faults({ failRefunds: false, refundDelayMs: 50 }));

  it('is tried anew with a key of its own, and one refund reaches the customer', async () => {
    await shop.faults({ failRefunds: true });
    const { orderId, paymentId } = await closedThenPaid(shop);
    // Before the second, whose failure would be followed by a longer pause.
    await until('the first attempt failed', async () => {
      const [refund] = await shop.refundsOf(orderId);
      return refund?.status === 'failed';
    });
    await shop.faults({ failRefunds: false });
    await shop.untilRefunded(orderId);
    const refunds = await refundsAtProvider(shop, paymentId);
    expect(refunds.filter(({ status }) => status === 'succeeded')).toHaveLength(1);
    expect(new Set(refunds.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(refunds.length);
    await shop.untilSound();
  });

  it('ends with an operator when it fails again and again', async () => {
    await shop.faults({ failRefunds: true });
    const { orderId, paymentId } = await closedThenPaid(shop);
    await until('an operator has to look', async () => {
      await pauseEnds(shop);
      const [refund] = await shop.refundsOf(orderId);
      return refund?.status === 'needs_attention';
    });
    expect(await refundsAtProvider(shop, paymentId)).toHaveLength(9);
    expect(await metric(shop, 'lastcall_refunds{status="needs_attention"}')).toBe(1);
    expect(await metric(shop, 'lastcall_alerts_total')).toBeGreaterThan(0);
    await shop.untilSound();
  });

  it('is never ignored when it fails a day after it had succeeded', async () => {
    const { orderId, paymentId, providerId } = await closedThenPaid(shop);
    await shop.untilRefunded(orderId);
    const [refund] = await refundsAtProvider(shop, paymentId);
    // The bank sends the money back: the sandbox has no such fault, so its notice is ours.
    await notice(shop, 'refund.failed', {
      providerPaymentId: providerId,
      reference: paymentId,
      amount: refund?.amount,
      currency: 'EUR',
      refundId: refund?.id,
      idempotencyKey: refund?.idempotencyKey,
      failureReason: 'account_closed',
    });
    // At once, or a moment later where the notice has met another change of the order.
    await until('we know', async () => {
      const [ours] = await shop.refundsOf(orderId);
      return ours?.status !== 'succeeded';
    });
    // What the sandbox thinks is that all has gone back: it refuses to pay twice.
    await until('an operator has to look', async () => {
      await pauseEnds(shop);
      const [row] = await shop.refundsOf(orderId);
      return row?.status === 'needs_attention';
    });
    expect(await refundsAtProvider(shop, paymentId)).toHaveLength(1);
  });
});

/** An order that was closed, and whose buyer's bank paid all the same. */
async function closedThenPaid(shop: StartedShop) {
  const payment = await shop.placeAndCancel();
  await shop.buyerPays(payment.providerId, { afterClose: true });
  return payment;
}

async function refundsAtProvider(shop: StartedShop, paymentId: string) {
  const payments = await shop.ledger();
  return payments.find(({ reference }) => reference === paymentId)?.refunds ?? [];
}

async function metric(shop: StartedShop, name: string): Promise<number> {
  const text = await shop.app.telemetry.registry.metrics();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  if (line) return Number(line.split(' ')[1]);
  const scraped = await shop.app.request<string>('GET /metrics', {
    token: await shop.app.token({ scope: 'ops' }),
  });
  const found = scraped.body.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(found?.split(' ')[1]);
}

async function notice(shop: StartedShop, type: string, data: object): Promise<void> {
  const body = JSON.stringify({ type, data });
  expect(await sendWebhook(shop.apiUrl, WEBHOOK_SECRET, body)).toBe(200);
}

/** The pause before the next attempt is over, and a sweep takes it. */
async function pauseEnds(shop: StartedShop): Promise<void> {
  await shop.sql.rows(
    `UPDATE refunds SET updated_at = updated_at - interval '1 day' WHERE status = 'failed'`,
  );
  await shop.sql.rows(`UPDATE deadlines SET due_at = now() WHERE kind = 'refund'
       AND due_at = (SELECT min(d.due_at) FROM deadlines d
                      WHERE d.kind = 'refund' AND d.subject_id = deadlines.subject_id)
       AND due_at > now()`);
  await shop.app.app.get(TimeoutService).runSweep();
}
