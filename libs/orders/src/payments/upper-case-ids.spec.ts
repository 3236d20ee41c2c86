import { inTransaction } from '@app/timeout';
import { randomUUID } from 'node:crypto';
import { LedgerProvider, post } from '../../../../test/support/ledger-provider';
import { openOrder, paidOrder, type Payable } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { readOrder } from '../order/order-rows';
import { uuidv7 } from '../order/uuid';
import { ReceiveWebhook } from './receive-webhook';
import { WebhookDeadline } from './webhook.deadline';

let world: World;
beforeAll(async () => {
  world = await openWorld({ providers: [new LedgerProvider(), new LedgerProvider('pear')] });
});
afterAll(() => world?.close());

/** What a provider says of a payment whose id it writes in capitals; answers with what became of that. */
async function tell(
  provider: string,
  { paymentId }: Payable,
  notice: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  const eventId = randomUUID();
  const of = { paymentId: paymentId.toUpperCase(), providerPaymentId: `pay-${paymentId}` };
  const { body, headers } = post({ eventId, ...of, idempotencyKey: null, why: null, ...notice });
  await world.get(ReceiveWebhook).receive(provider, body, headers);
  const [row] = await world.rows<{ result: string }>(
    'SELECT result FROM webhook_events WHERE event_id = $1',
    [eventId],
  );
  return row?.result;
}

describe('a notice that has the id of a payment in capitals', () => {
  it('is about that payment, by its own provider', async () => {
    const order = await openOrder(world);
    const money = { amount: order.amount, currency: 'EUR', paidAt: new Date() };
    expect(await tell('sandbox', order, { type: 'payment.succeeded', money })).toBe('paid');
    expect(await readOrder(world, order.id)).toMatchObject({ status: 'paid' });
  });

  it('ends no payment of another provider', async () => {
    const order = await openOrder(world);
    // As long as the answer of its own has not come.
    await world.rows('UPDATE payments SET provider_payment_id = NULL WHERE id = $1', [
      order.paymentId,
    ]);
    expect(await tell('pear', order, { type: 'payment.failed' })).toBe('not_ours');
    expect(await readOrder(world, order.id)).toMatchObject({ payments: [{ status: 'open' }] });
  });

  it('is about that payment also where an older version has stored it as it was told', async () => {
    const order = await openOrder(world);
    const money = { amount: order.amount, currency: 'EUR', paidAt: new Date() };
    const { body } = post({
      ...{ eventId: randomUUID(), type: 'payment.succeeded', idempotencyKey: null, why: null },
      ...{ paymentId: order.paymentId.toUpperCase(), providerPaymentId: `pay-${order.paymentId}` },
      money,
    });
    const id = uuidv7();
    await world.rows(
      `INSERT INTO webhook_events (id, provider, event_id, notice)
       VALUES ($1::uuid, 'sandbox', $1::text, $2::jsonb)`,
      [id, body.toString()],
    );
    const due = { kind: 'webhook', subjectId: id, dueAt: new Date(), version: 1, failures: 0 };
    await inTransaction(world.dataSource, (tx) => world.get(WebhookDeadline).handle([due], tx));
    expect(await readOrder(world, order.id)).toMatchObject({ status: 'paid' });
  });

  it.each([
    ['refund.succeeded', { providerRefundId: 're-1', amount: 1_000 }],
    ['dispute.lost', { disputeId: 'du-1', amount: 1_000 }],
  ])('moves no money of another provider (%s)', async (type, about) => {
    const order = await paidOrder(world);
    expect(await tell('pear', order, { type, ...about })).toBe('unknown_reference');
    expect(await readOrder(world, order.id)).toMatchObject({
      ...{ status: 'paid', balance: { refunded: 0, disputed: 0 } },
    });
  });
});
