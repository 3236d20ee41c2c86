import { createHmac } from 'node:crypto';
import { Harness, SECRET } from './testing/harness';
import type { ReceivedWebhook } from './testing/webhook-receiver';

const MAX_FIRST_BACKOFF_MS = 200;
let sandbox: Harness;

beforeEach(async () => {
  sandbox = new Harness();
  await sandbox.start();
});
afterEach(() => sandbox.stop());

async function pay(): Promise<string> {
  const id = await sandbox.openPayment();
  await sandbox.post(`/v1/payments/${id}/pay`);
  return id;
}

function signatureOf({ headers, body }: ReceivedWebhook): string {
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}

/** What the list says once the answer to the last delivery has been dealt with. */
async function deliveryOf(id: string, status: string): Promise<Record<string, unknown>> {
  for (;;) {
    const { body } = await sandbox.get('/v1/webhooks');
    const event = body.items.find((item: { id: string }) => item.id === id);
    if (event.status === status) return event;
  }
}

it('signs what it sends', async () => {
  await pay();
  const webhook = await sandbox.receiver.next();
  expect(webhook.id).toMatch(/^evt_[0-9a-f]{32}$/);
  expect(webhook.headers['webhook-timestamp']).toBe(String(sandbox.clock.now() / 1000));
  expect(webhook.headers['webhook-signature']).toBe(signatureOf(webhook));
  expect(webhook.headers['content-type']).toBe('application/json');
});

it('sends the same event until it is taken, freshly signed each time', async () => {
  const { receiver, clock } = sandbox;
  receiver.replies.push({ status: 500 }, { status: 302 }, { status: 404 });
  const sent: ReceivedWebhook[] = [];
  let armed = clock.nextTimer();
  await pay();
  for (let doublings = 0; doublings < 3; doublings += 1) {
    sent.push(await receiver.next());
    await armed;
    armed = clock.nextTimer();
    clock.advance(MAX_FIRST_BACKOFF_MS * 2 ** doublings);
  }
  clock.advance(5000);
  sent.push(await receiver.next());
  expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
  expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
  for (const webhook of sent) {
    expect(webhook.headers['webhook-signature']).toBe(signatureOf(webhook));
  }
  const event = await deliveryOf(sent[0]!.id, 'delivered');
  expect(event).toMatchObject({ attempts: 4, lastStatus: 204, nextAttemptAt: null });
  clock.advance(3_600_000);
  // An attempt counts as it begins.
  expect(await deliveryOf(sent[0]!.id, 'delivered')).toMatchObject({ attempts: 4 });
  expect(receiver.received).toHaveLength(4);
});

it('comes back when the receiver says so', async () => {
  const { receiver, clock } = sandbox;
  receiver.replies.push({ status: 503, headers: { 'retry-after': '120' } });
  const armed = clock.nextTimer();
  await pay();
  const first = await receiver.next();
  await armed;
  clock.advance(119_999);
  const event = await deliveryOf(first.id, 'pending');
  expect(event).toMatchObject({ attempts: 1, lastStatus: 503 });
  clock.advance(1 + MAX_FIRST_BACKOFF_MS);
  const second = await receiver.next();
  expect(second.id).toBe(first.id);
  const secondsBetween =
    Number(second.headers['webhook-timestamp']) - Number(first.headers['webhook-timestamp']);
  expect(secondsBetween).toBeGreaterThanOrEqual(120);
});

it('keeps trying while nobody is there, and can be pointed elsewhere', async () => {
  const { receiver, clock } = sandbox;
  const { url } = (await sandbox.get('/v1/webhooks/endpoint')).body;
  await sandbox.call('PUT', '/v1/webhooks/endpoint', { url: 'http://127.0.0.1:1/' });
  const armed = clock.nextTimer();
  await pay();
  await armed;
  const { body } = await sandbox.get('/v1/webhooks?status=pending');
  expect(body.pendingCount).toBe(1);
  expect(body.items[0]).toMatchObject({ lastStatus: null, lastError: expect.any(String) });
  await sandbox.call('PUT', '/v1/webhooks/endpoint', { url });
  clock.advance(MAX_FIRST_BACKOFF_MS);
  expect((await receiver.next()).id).toBe(body.items[0].id);
});

it('refuses an endpoint that is no web address', async () => {
  const { status, body } = await sandbox.call('PUT', '/v1/webhooks/endpoint', { url: 'file:///x' });
  expect([status, body.errors[0].field]).toEqual([400, 'url']);
});

it('sends a delivered event again on demand, as often as asked', async () => {
  await pay();
  const first = await sandbox.receiver.next();
  await deliveryOf(first.id, 'delivered');
  const { status } = await sandbox.post('/v1/webhooks/resend', { eventId: first.id, copies: 49 });
  expect(status).toBe(202);
  const again = await sandbox.receiver.take(50);
  expect(new Set(again.map(({ id }) => id))).toEqual(new Set([first.id]));
  const unknown = await sandbox.post('/v1/webhooks/resend', { eventId: 'evt_0' });
  expect([unknown.status, unknown.body.code]).toEqual([404, 'event_not_found']);
});

describe('told to misbehave', () => {
  it('duplicates webhooks', async () => {
    await sandbox.faults({ duplicateWebhooks: 3 });
    await pay();
    const copies = await sandbox.receiver.take(4);
    expect(new Set(copies.map(({ id }) => id)).size).toBe(1);
  });

  it('tells of one capture twice, as two events', async () => {
    await sandbox.faults({ doubleSuccess: true });
    await pay();
    const [one, other] = await sandbox.receiver.take(2);
    expect(one!.body).toBe(other!.body);
    expect(one!.id).not.toBe(other!.id);
  });

  it('drops webhooks for good, until they are asked for', async () => {
    await sandbox.faults({ dropWebhooks: true });
    const id = await pay();
    sandbox.clock.advance(3_600_000);
    const { body } = await sandbox.get('/v1/webhooks');
    expect(body.items).toMatchObject([{ status: 'dropped', attempts: 0, providerPaymentId: id }]);
    expect(body.pendingCount).toBe(0);
    await sandbox.post('/v1/webhooks/resend', { eventId: body.items[0].id });
    expect((await sandbox.receiver.next()).id).toBe(body.items[0].id);
  });

  it('delays webhooks', async () => {
    await sandbox.faults({ webhookDelayMs: 5000 });
    const id = await pay();
    sandbox.clock.advance(4999);
    expect((await sandbox.get('/v1/webhooks')).body.items[0].attempts).toBe(0);
    sandbox.clock.advance(1);
    expect((await sandbox.receiver.next()).data['providerPaymentId']).toBe(id);
  });

  it('reorders webhooks', async () => {
    await sandbox.faults({ reorderWebhooks: true, seed: 1 });
    const ids: string[] = [];
    for (let count = 0; count < 8; count += 1) ids.push(await pay());
    const arrived: unknown[] = [];
    for (let elapsedMs = 0; elapsedMs < 250; elapsedMs += 1) {
      sandbox.clock.advance(1);
      const { body } = await sandbox.get('/v1/webhooks');
      const sent = body.items.filter(({ attempts }: { attempts: number }) => attempts > 0).length;
      while (arrived.length < sent) {
        arrived.push((await sandbox.receiver.next()).data['providerPaymentId']);
      }
    }
    expect([...arrived].sort()).toEqual([...ids].sort());
    expect(arrived).not.toEqual(ids);
  });
});
