import type { OrdersTelemetry } from '../order/telemetry';
import { GuardedProvider } from './guarded.provider';
import type { PaymentProvider, PaymentRef, ProviderAnswer } from './payment-provider';

const REF = {
  paymentId: 'p1',
  providerPaymentId: 'pay_1',
  amount: 500,
  currency: 'EUR',
  expiresAt: new Date(0),
  request: {},
} satisfies PaymentRef;
const UNKNOWN: ProviderAnswer = { state: 'UNKNOWN', why: 'no answer' };
const UNPAID: ProviderAnswer = { state: 'UNPAID', providerPaymentId: 'pay_1' };

describe('GuardedProvider', () => {
  const telemetry = { providerCall: jest.fn(), alert: jest.fn(), failed: jest.fn() };
  const findPayment = jest.fn<Promise<ProviderAnswer>, [PaymentRef]>();
  const createPayment = jest.fn();
  const onOutcome = jest.fn();
  const guard = (timeout = 1_000): GuardedProvider =>
    new GuardedProvider(
      { name: 'acme', findPayment, createPayment } as unknown as PaymentProvider,
      telemetry as unknown as OrdersTelemetry,
      {
        breaker: {
          timeout,
          errorThresholdPercentage: 50,
          volumeThreshold: 3,
          resetTimeout: 60_000,
        },
        onOutcome,
      },
    );
  beforeEach(() => jest.resetAllMocks());

  it('passes answers on, and measures the calls', async () => {
    findPayment.mockResolvedValue(UNPAID);
    expect(await guard().findPayment(REF)).toEqual(UNPAID);
    expect(telemetry.providerCall).toHaveBeenCalledWith({
      ...{ provider: 'acme', operation: 'find_payment', outcome: 'unpaid' },
      tookMs: expect.any(Number),
    });
    expect(onOutcome.mock.calls).toEqual([['unpaid']]);
  });

  it('bounds why there is no answer, whoever wrote it', async () => {
    const why = 'no answer '.repeat(10_000);
    findPayment.mockResolvedValueOnce({ state: 'UNKNOWN', why });
    findPayment.mockRejectedValueOnce(new Error(why));
    for (let asked = 0; asked < 2; asked++) {
      const answer = await guard().findPayment(REF);
      expect(answer).toMatchObject({ why: expect.stringContaining('(100,000 characters)') });
      expect(JSON.stringify(answer).length).toBeLessThan(1_200);
    }
  });

  it('stops asking one that does not answer: UNKNOWN at once, and no payment is opened', async () => {
    findPayment.mockResolvedValue(UNKNOWN);
    const guarded = guard();
    for (let i = 0; i < 3; i++) expect(await guarded.findPayment(REF)).toEqual(UNKNOWN);
    findPayment.mockClear();
    const notAsked = `not asked, as it does not answer: ${UNKNOWN.why}`;
    expect(await guarded.findPayment(REF)).toEqual({ state: 'UNKNOWN', why: notAsked });
    expect(await guarded.createPayment(REF)).toMatchObject({ state: 'NOT_MADE' });
    expect(findPayment).not.toHaveBeenCalled();
    expect(createPayment).not.toHaveBeenCalled();
    const { why } = UNKNOWN;
    const told = { provider: 'acme', why };
    expect(telemetry.alert.mock.calls).toEqual([['provider_does_not_answer', told]]);
  });

  it('takes a refusal for an answer, however many there are', async () => {
    createPayment.mockResolvedValue({ state: 'REFUSED', why: 'amount too small' });
    const guarded = guard();
    for (let i = 0; i < 10; i++) await guarded.createPayment(REF);
    expect(telemetry.providerCall).toHaveBeenLastCalledWith({
      ...{ provider: 'acme', operation: 'create_payment', outcome: 'refused' },
      tookMs: expect.any(Number),
    });
    createPayment.mockResolvedValue({
      ...{ state: 'CREATED', providerPaymentId: 'pay_2', checkoutUrl: 'https://acme.example/2' },
    });
    expect(await guarded.createPayment(REF)).toMatchObject({ state: 'CREATED' });
    expect(telemetry.alert).not.toHaveBeenCalled();
  });

  it('waits for no provider longer than it may take', async () => {
    findPayment.mockReturnValue(new Promise(() => undefined));
    expect(await guard(20).findPayment(REF)).toMatchObject({ state: 'UNKNOWN' });
    expect(telemetry.providerCall).toHaveBeenCalledWith({
      ...{ provider: 'acme', operation: 'find_payment', outcome: 'timeout' },
      tookMs: expect.any(Number),
    });
  });

  const PAID = { state: 'PAID', providerPaymentId: 'pay_1' };
  const MONEY = { amount: 500, currency: 'EUR', paidAt: new Date(0) };
  it.each([
    [undefined, 'the answer'],
    [{ state: 'paid' }, 'state'],
    [{ state: 'UNPAID' }, 'providerPaymentId'],
    [{ state: 'UNPAID', providerPaymentId: 'a\0b' }, 'providerPaymentId'],
    [PAID, 'money'],
    [{ ...PAID, money: { ...MONEY, amount: '500' } }, 'money.amount'],
    [{ ...PAID, money: { ...MONEY, paidAt: '2026-03-01T12:00:00Z' } }, 'money.paidAt'],
    [{ ...PAID, money: { ...MONEY, paidAt: new Date('yesterday') } }, 'money.paidAt'],
  ])('takes %j for no answer, and tells of the bug', async (answer, where) => {
    findPayment.mockResolvedValue(answer as ProviderAnswer);
    const why = expect.stringContaining(`makes no sense: ${where}:`) as string;
    expect(await guard().findPayment(REF)).toEqual({ state: 'UNKNOWN', why });
    const bug = expect.objectContaining({ message: why }) as Error;
    expect(telemetry.failed).toHaveBeenCalledWith('provider find_payment', bug);
  });

  it('says why in what can be kept, whatever the provider says', async () => {
    createPayment.mockResolvedValue({ state: 'REFUSED', why: 'a\0b\ud800' });
    expect(await guard().createPayment(REF)).toEqual({ state: 'REFUSED', why: 'a\ufffdb\ufffd' });
  });

  it('takes a payment without a page to pay it on for no answer', async () => {
    createPayment.mockResolvedValue({ state: 'CREATED', providerPaymentId: 'pay_2' });
    expect(await guard().createPayment(REF)).toMatchObject({ state: 'UNKNOWN' });
  });

  it('tells of a bug, and takes it for no answer', async () => {
    findPayment.mockRejectedValue(new TypeError('x is not a function'));
    expect(await guard().findPayment(REF)).toMatchObject({ state: 'UNKNOWN' });
    expect(telemetry.failed).toHaveBeenCalledWith('provider find_payment', expect.any(TypeError));
  });
});
