import { randomUUID } from 'node:crypto';
import { type AppProcess, type Installation, startInstallation } from '../support/installation';
import { WEBHOOK_SECRET } from '../support/app';
import { sendWebhook } from '../support/send-webhook';
import { until } from '../support/until';

jest.setTimeout(120_000);

describe('fifty late notices at once, on three processes', () => {
  let shop: Installation;
  let processes: AppProcess[];

  beforeAll(async () => {
    shop = await startInstallation();
    processes = await Promise.all([1, 2, 3].map(() => shop.startProcess()));
  });
  afterAll(() => shop?.close());

  it('make one money row and one refund', async () => {
    const { orderId, paymentId, providerId } = await shop.placeAndCancel();
    // The money comes late, and the sandbox's own notice is one more of the same.
    await shop.buyerPays(providerId, { afterClose: true });
    const [event] = await shop.events(providerId, 'payment.succeeded');
    const body = event?.body as string;
    // Half of them with ids of their own, as from a provider that tells of one capture twice.
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => {
        const url = (processes[i % 3] as AppProcess).url;
        const id = i % 2 ? (event?.id as string) : `evt_${randomUUID()}`;
        return sendWebhook(url, WEBHOOK_SECRET, body, id);
      }),
    );
    expect(new Set(answers)).toEqual(new Set([200]));
    await shop.untilRefunded(orderId, 60_000);
    // Those that met another one at the guard were stored, and are applied a moment later.
    await until('every notice is settled', async () => {
      const [open] = await shop.sql.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM webhook_events WHERE status <> 'processed'`,
      );
      return open?.n === 0;
    });

    const [books] = await shop.sql.rows<{ payments: number; refunds: number }>(
      `SELECT (SELECT count(*)::int FROM payments WHERE order_id = $1) AS payments,
              (SELECT count(*)::int FROM refunds WHERE payment_id = $2) AS refunds`,
      [orderId, paymentId],
    );
    expect(books).toEqual({ payments: 1, refunds: 1 });
    const [payment] = await shop.ledger();
    expect(payment?.refunds).toMatchObject([{ amount: 500 }]);
    await shop.untilSound();
  });
});
