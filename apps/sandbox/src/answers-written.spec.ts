import type { AddressInfo } from 'node:net';
import { Agenda } from './agenda';
import { Disputes } from './disputes';
import { FaultBox } from './faults';
import type { Journal } from './journal';
import { Ledger } from './ledger';
import { Payments } from './payments';
import { Refunds } from './refunds';
import { buildServer } from './server';
import { SECRET } from './testing/harness';
import { ManualClock } from './testing/manual-clock';
import { WebhookOutbox } from './webhook-outbox';
import { WebhookPoster } from './webhook-post';
import { signingKey } from './webhook-signature';

/** A disk that writes when it is let, and tells who waits for it. */
class SlowDisk implements Journal {
  #written = Promise.resolve();
  #letWrite = (): void => undefined;
  #tellWaiting = (): void => undefined;
  #tellAppended = (): void => undefined;

  hold(): Promise<void> {
    this.#written = new Promise((resolve) => (this.#letWrite = resolve));
    return new Promise((resolve) => (this.#tellAppended = resolve));
  }

  release(): void {
    this.#letWrite();
  }

  /** Resolves when somebody waits for what is not written yet. */
  waitedFor(): Promise<void> {
    return new Promise((resolve) => (this.#tellWaiting = resolve));
  }

  append(): Promise<void> {
    this.#tellAppended();
    return this.#written;
  }

  flush(): Promise<void> {
    this.#tellWaiting();
    return this.#written;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const clock = new ManualClock();
const disk = new SlowDisk();
const [agenda, faults] = [new Agenda(clock), new FaultBox()];
const nowhere = 'http://127.0.0.1:9/';
const outbox = new WebhookOutbox(
  ...([new WebhookPoster(), agenda, clock, faults, signingKey(SECRET), nowhere] as const),
);
const ledger = new Ledger(clock, outbox);
ledger.journal = disk;
const refunds = new Refunds(ledger, agenda, clock, faults);
const app = buildServer({
  ...{ ledger, refunds, outbox, faults, clock, restored: Promise.resolve() },
  payments: new Payments(ledger, agenda, clock, faults),
  disputes: new Disputes(ledger, clock),
});

const ask = async (path: string, body?: object) => {
  const { port } = app.server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  });
  // The tests look into answers of several shapes.
  return { status: answer.status, body: (await answer.json()) as { id: string; code?: string } };
};
let references = 0;
const openPayment = async () => {
  references += 1;
  const wanted = { reference: `reference-${references}`, amount: 1999, currency: 'EUR' };
  return (await ask('/v1/payments', wanted)).body.id;
};

afterEach(() => disk.release());
beforeAll(() => app.listen({ host: '127.0.0.1', port: 0 }));
afterAll(async () => {
  agenda.stop();
  outbox.stop();
  await app.close();
});

/** What is asked of a payment while it is being paid, or has been refused, and is not written yet. */
it.each<[string, 'pay' | 'fail', string, object | undefined, number]>([
  ['a look at the payment', 'pay', '/v1/payments/ID', undefined, 200],
  ['a look by its reference', 'pay', '/v1/payments?reference=REFERENCE', undefined, 200],
  ['the ledger', 'pay', '/v1/ledger', undefined, 200],
  ['the pay page', 'pay', '/pay/ID/status', undefined, 200],
  ['paying again', 'pay', '/v1/payments/ID/pay', {}, 409],
  ['a close that comes too late', 'pay', '/v1/payments/ID/close', {}, 409],
  ['failing again', 'fail', '/v1/payments/ID/fail', {}, 200],
])('says nothing that is not written: %s', async (_what, change, path, body, status) => {
  const id = await openPayment();
  const appended = disk.hold();
  const changing = ask(`/v1/payments/${id}/${change}`, {});
  await appended;
  const waits = disk.waitedFor().then(() => 'waits');
  const asked = path.replace('ID', id).replace('REFERENCE', `reference-${references}`);
  const answer = ask(asked, body);
  expect(await Promise.race([waits, answer])).toBe('waits');
  disk.release();
  expect((await changing).status).toBe(200);
  expect((await answer).status).toBe(status);
});

it('says nothing of a refund that is not written', async () => {
  const paymentId = await openPayment();
  await ask(`/v1/payments/${paymentId}/pay`, {});
  const appended = disk.hold();
  const wanted = { paymentId, amount: 1, idempotencyKey: 'once' };
  const refunding = ask('/v1/refunds', wanted);
  await appended;
  const [made] = ledger.refundsOf(paymentId);
  const waits = disk.waitedFor().then(() => 'waits');
  const answer = ask(`/v1/refunds/${made?.id}`);
  expect(await Promise.race([waits, answer])).toBe('waits');
  disk.release();
  expect((await refunding).status).toBe(201);
  expect((await answer).status).toBe(200);
});
