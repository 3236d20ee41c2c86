import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Harness } from './testing/harness';

let folder: string;
let sandbox: Harness;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
  sandbox = new Harness(folder);
  await sandbox.start();
});
afterEach(async () => {
  await sandbox.stop();
  await rm(folder, { recursive: true });
});

async function restart(): Promise<void> {
  await sandbox.stopSandbox();
  await sandbox.startSandbox();
}

/** The receiver has answered before the sandbox has read the answer. */
async function allDelivered(): Promise<void> {
  let pendingCount = 1;
  while (pendingCount > 0) ({ pendingCount } = (await sandbox.get('/v1/webhooks')).body);
}

async function ledger(): Promise<object> {
  const { body } = await sandbox.get('/v1/ledger');
  // The port, and with it the pay page, is another one after a restart.
  return JSON.parse(JSON.stringify(body).replaceAll(sandbox.url, ''));
}

it('keeps the ledger, its order and the idempotency', async () => {
  const wanted = sandbox.newPayment();
  const { body: payment } = await sandbox.post('/v1/payments', wanted);
  await sandbox.post(`/v1/payments/${payment.id}/pay`);
  const refund = { paymentId: payment.id, amount: 5, idempotencyKey: 'once' };
  await sandbox.post('/v1/refunds', refund);
  sandbox.clock.advance(50);
  await sandbox.receiver.take(2);
  await sandbox.post(`/v1/payments/${await sandbox.openPayment()}/close`);
  await sandbox.receiver.next();
  const before = await ledger();

  await restart();
  expect(await ledger()).toEqual(before);
  await restart();
  expect(await ledger()).toEqual(before);
  expect((await sandbox.post('/v1/payments', wanted)).status).toBe(200);
  expect((await sandbox.post('/v1/refunds', refund)).status).toBe(200);
});

it('reads a ledger of before, whose payments say only when they were paid', async () => {
  const path = join(folder, 'ledger.jsonl');
  await sandbox.openPayment();
  const id = await sandbox.openPayment();
  sandbox.clock.advance(10_000);
  const since = sandbox.inMs(0);
  await sandbox.post(`/v1/payments/${id}/pay`);
  await sandbox.stopSandbox();
  const written = await readFile(path, 'utf8');
  expect(written).toContain('"changedAt"');
  await writeFile(path, written.replaceAll(/,"changedAt":"[^"]+"/g, ''));
  await sandbox.startSandbox();
  const { body } = await sandbox.get(`/v1/ledger?since=${since}`);
  expect(body.payments).toEqual([expect.objectContaining({ id, paidAt: since })]);
});

it('goes on sending what was not delivered, with the same id and body', async () => {
  sandbox.receiver.replies.push({ status: 503 });
  await sandbox.post(`/v1/payments/${await sandbox.openPayment()}/pay`);
  const first = await sandbox.receiver.next();
  await restart();
  const again = await sandbox.receiver.next();
  expect([again.id, again.body]).toEqual([first.id, first.body]);
});

it('does not send again what was delivered', async () => {
  await sandbox.paidPayment();
  await allDelivered();
  await restart();
  const { body } = await sandbox.get('/v1/webhooks');
  expect(body.items).toMatchObject([{ status: 'delivered', attempts: 1 }]);
  await sandbox.paidPayment();
  expect(sandbox.receiver.received).toHaveLength(2);
});

it('takes up refunds and expiries that fell due while it was away', async () => {
  const id = await sandbox.paidPayment();
  await allDelivered();
  await sandbox.faults({ failRefunds: true });
  await sandbox.post('/v1/refunds', { paymentId: id, amount: 1, idempotencyKey: 'key' });
  const expiring = await sandbox.openPayment({ expiresAt: sandbox.inMs(1000) });
  await sandbox.stopSandbox();
  sandbox.clock.advance(10_000);
  await sandbox.startSandbox();
  sandbox.clock.advance(0);
  const told = await sandbox.receiver.take(2);
  expect(told.map(({ type }) => type).sort()).toEqual(['payment.closed', 'refund.failed']);
  expect((await sandbox.get(`/v1/payments/${expiring}`)).body.status).toBe('closed');
});

it('forgives a torn last line and nothing else', async () => {
  const path = join(folder, 'ledger.jsonl');
  const id = await sandbox.openPayment();
  await sandbox.stopSandbox();
  await appendFile(path, '[{"payment":{"id":"pay_torn');
  await sandbox.startSandbox();
  expect((await sandbox.get('/health')).body.payments).toBe(1);
  await sandbox.openPayment();
  await restart();
  expect((await sandbox.get(`/v1/payments/${id}`)).status).toBe(200);
  await sandbox.stopSandbox();

  const sound = await readFile(path, 'utf8');
  await writeFile(path, `damaged\n${sound}`);
  await expect(sandbox.startSandbox()).rejects.toThrow('ledger.jsonl is damaged at line 1');
  expect(await readFile(path, 'utf8')).toBe(`damaged\n${sound}`);
});

it('keeps names of several lines, whatever a Node takes for the end of one', async () => {
  const id = await sandbox.openPayment({
    lines: [{ name: 'Tea\u2028green\u2029\r\n100 g', quantity: 1, unitPrice: 1999 }],
  });
  const before = (await sandbox.get(`/v1/payments/${id}`)).body;
  await restart();
  await restart();
  const { body } = await sandbox.get(`/v1/payments/${id}`);
  expect({ ...body, checkoutUrl: before.checkoutUrl }).toEqual(before);
});

it('keeps the file short', async () => {
  const id = await sandbox.openPayment();
  for (let count = 0; count < 10; count += 1) {
    await sandbox.post('/v1/payments', sandbox.newPayment({ reference: 'same' }));
  }
  await sandbox.post(`/v1/payments/${id}/pay`);
  await sandbox.receiver.next();
  await allDelivered();
  await restart();
  const lines = (await readFile(join(folder, 'ledger.jsonl'), 'utf8')).trim().split('\n');
  expect(lines).toHaveLength(3);
});
