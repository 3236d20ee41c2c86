import { Harness } from './testing/harness';

const sandbox = new Harness();
beforeAll(() => sandbox.start());
afterAll(() => sandbox.stop());

interface Page {
  readonly payments: readonly { readonly reference: string }[];
  readonly refunds: readonly { readonly idempotencyKey: string }[];
  readonly nextCursor: string | null;
}

async function page(query: Record<string, string>): Promise<Page> {
  return (await sandbox.get(`/v1/ledger?${new URLSearchParams(query)}`)).body;
}

it('lists everything, or page by page, or from an instant on', async () => {
  const instants: string[] = [];
  for (const reference of ['a', 'b', 'c']) {
    instants.push(sandbox.inMs(0));
    const id = await sandbox.openPayment({ reference });
    await sandbox.post(`/v1/payments/${id}/pay`);
    await sandbox.post('/v1/refunds', { paymentId: id, amount: 1, idempotencyKey: reference });
    sandbox.clock.advance(1000);
  }
  const all = await page({});
  expect(all.payments.map(({ reference }) => reference)).toEqual(['a', 'b', 'c']);
  expect(all.refunds.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['a', 'b', 'c']);
  expect(all.nextCursor).toBeNull();

  const seen: string[] = [];
  let cursor: string | null = '0';
  while (cursor !== null) {
    const { payments, refunds, nextCursor }: Page = await page({ limit: '2', cursor });
    seen.push(...payments.map(({ reference }) => `payment ${reference}`));
    seen.push(...refunds.map(({ idempotencyKey }) => `refund ${idempotencyKey}`));
    cursor = nextCursor;
  }
  expect(seen).toHaveLength(6);
  expect(new Set(seen).size).toBe(6);

  const young = await page({ since: instants[1]!, limit: '3' });
  expect(young.payments.map(({ reference }) => reference)).toEqual(['b', 'c']);
  expect(young.refunds.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['b']);
  expect(await page({ since: sandbox.inMs(0) })).toMatchObject({ payments: [], refunds: [] });
});

it.each([
  ['since', 'yesterday'],
  ['limit', '0'],
  ['cursor', '-1'],
  ['status', 'paid'],
])('refuses %s=%s by name', async (field, value) => {
  const { status, body } = await sandbox.get(`/v1/ledger?${field}=${value}`);
  expect([status, body.errors[0].field]).toEqual([400, field]);
});

it.each<[string, (id: string) => Promise<unknown>]>([
  [
    'paid now, by what the buyer did an hour ago',
    (id) => sandbox.post(`/v1/payments/${id}/pay`, { paidAt: sandbox.inMs(-3_600_000) }),
  ],
  ['failed', (id) => sandbox.post(`/v1/payments/${id}/fail`)],
  ['closed', (id) => sandbox.post(`/v1/payments/${id}/close`)],
  [
    'given more time',
    (id) => sandbox.post(`/v1/payments/${id}/extend`, { expiresAt: sandbox.inMs(120_000) }),
  ],
])(
  'lists from an instant on a payment that was made before and has since been %s',
  async (_, change) => {
    const id = await sandbox.openPayment({ expiresAt: sandbox.inMs(60_000) });
    sandbox.clock.advance(10_000);
    const since = sandbox.inMs(0);
    expect(await page({ since })).toMatchObject({ payments: [] });
    await change(id);
    const [only] = (await page({ since })).payments;
    expect(only).toMatchObject({ id, changedAt: since });
  },
);
