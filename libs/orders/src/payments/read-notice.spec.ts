import { LedgerProvider, post } from '../../../../test/support/ledger-provider';
import { silentOrdersTelemetry } from '../../../../test/support/silent-telemetry';
import type { ProviderNotice } from '../providers/payment-provider';
import { readNotice } from './read-notice';

const read = (notice: object): Promise<ProviderNotice> => {
  const { body, headers } = post({ ...IDS, ...notice });
  const now = new Date('2026-05-01T10:00:00Z');
  return readNotice(new LedgerProvider(), body, headers, { now, telemetry: silentOrdersTelemetry });
};

const IDS = { eventId: 'evt-1', paymentId: 'ours', providerPaymentId: 'theirs' };
const MONEY = { amount: 1_250, currency: 'EUR', paidAt: '2026-05-01T10:00:00Z' };
const paid = (money: object) => ({
  type: 'payment.succeeded',
  money: { ...MONEY, ...money },
});
const disputed = (amount: unknown) => ({ type: 'dispute.opened', disputeId: 'du-1', amount });

it.each([undefined, null, { eventId: 'evt-1' }])(
  'a webhook without the bytes that were sent (%j) is refused before a provider is asked',
  async (body) => {
    const provider = new LedgerProvider();
    const asked = jest.spyOn(provider, 'readWebhook');
    const now = new Date();
    const telemetry = silentOrdersTelemetry;
    const reading = readNotice(provider, body as never, {}, { now, telemetry });
    await expect(reading).rejects.toThrow('NestFactory.create(App, { rawBody: true })');
    expect(asked).not.toHaveBeenCalled();
  },
);

describe('what a provider is understood to say', () => {
  it('is passed on as it is', async () => {
    const money = { ...MONEY, amount: 0, paidAt: new Date(MONEY.paidAt) };
    expect(await read(paid({ amount: 0 }))).toEqual({ ...IDS, type: 'payment.succeeded', money });
    expect(await read(disputed(5))).toMatchObject({ amount: 5 });
    expect(await read({ type: 'ignored', providerType: 'x' })).toMatchObject({ type: 'ignored' });
  });

  it('is kept with an end of its words, however many those are', async () => {
    const why = 'declined '.repeat(20_000);
    const failed = { type: 'refund.failed', amount: 5, providerRefundId: 're', why };
    const { why: kept } = (await read(failed)) as { readonly why?: string };
    expect(kept).toMatch(/^declined .* \(180,000 characters\) .*declined $/);
    expect(kept?.length).toBeLessThan(1_100);
  });

  it.each([
    ['money.amount', paid({ amount: 12.5 })],
    ['money.amount', paid({ amount: -1 })],
    ['money.amount', paid({ amount: '1250' })],
    ['money.amount', paid({ amount: 2 ** 53 })],
    ['money.currency', paid({ currency: null })],
    ['money.paidAt', paid({ paidAt: 'yesterday' })],
    ['amount', disputed(0.5)],
    ['amount', disputed(null)],
    ['eventId', { ...disputed(5), eventId: undefined }],
    ['providerPaymentId', { ...disputed(5), providerPaymentId: 'x'.repeat(3_000) }],
  ])('is refused by the name of what is none: %s', async (field, notice) => {
    const refusal = { code: 'invalid_request', fields: { errors: [{ field }] } };
    await expect(read(notice)).rejects.toMatchObject(refusal);
  });

  it.each(['', 'x'.repeat(501)])('is refused with how long an id may be', async (id) => {
    const message = 'must be a text of 1 to 500 characters';
    await expect(read({ ...disputed(5), providerPaymentId: id })).rejects.toMatchObject({
      fields: { errors: [{ field: 'providerPaymentId', message }] },
    });
  });

  it.each([undefined, null])('is refused where an adapter answers with %s', async (nothing) => {
    const provider = new LedgerProvider();
    jest.spyOn(provider, 'readWebhook').mockReturnValue(nothing as never);
    const { body, headers } = post(IDS);
    const reading = readNotice(provider, body, headers, {
      now: new Date(),
      telemetry: silentOrdersTelemetry,
    });
    await expect(reading).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
