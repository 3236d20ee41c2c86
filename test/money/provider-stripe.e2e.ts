import { uuidv7 } from '../../libs/orders/src/order/uuid';
import type {
  LedgerPayment,
  PaymentRequest,
} from '../../libs/orders/src/providers/payment-provider';
import { describeProvider } from '../../libs/orders/src/providers/provider.contract';
import { StripeProvider } from '../../libs/orders/src/providers/stripe/stripe.provider';
import {
  startStripe,
  type StripeStandIn,
  STRIPE_WEBHOOK_SECRET,
} from '../support/stripe/start-stripe';
import { until } from '../support/until';

const NOBODY = 'http://127.0.0.1:9';
const INSTALLATION = uuidv7();
/** Of a create call: ours and, on a connection that breaks, the SDK's. */
const ALL_TRIES = 4;

const connect = (apiUrl: string, installation = INSTALLATION): StripeProvider =>
  new StripeProvider({
    secretKey: 'sk_test_local',
    webhookSecret: STRIPE_WEBHOOK_SECRET,
    apiUrl,
    returnUrl: 'https://shop.test/thanks',
    installation,
  });

describeProvider('Stripe', async () => {
  const stripe = await startStripe();
  return {
    provider: connect(stripe.url),
    unreachable: connect(NOBODY),
    buyerPays: async (id) => void (await stripe.pay(id)),
    failRefunds: async (fail) => void (await stripe.failRefunds(fail)),
    webhook: (matches) =>
      until('the webhook', async () => {
        const event = (await stripe.state()).events.find(({ body }) => matches(body));
        return event && { ...event, rawBody: Buffer.from(event.body) };
      }),
    close: () => stripe.stop(),
  };
});

describe('Stripe', () => {
  let stripe: StripeStandIn;
  let provider: StripeProvider;
  beforeAll(async () => {
    stripe = await startStripe();
    provider = connect(stripe.url);
  });
  afterAll(() => stripe?.stop());

  /** As our row has it: `plannedAgoMs` after the customer asked for it. */
  const plan = ({ amount = 1_999, currency = 'EUR', plannedAgoMs = 0 } = {}) => {
    const now = new Date(Date.now() - plannedAgoMs);
    const expiresAt = new Date(now.getTime() + 600_000);
    const given = { paymentId: uuidv7(), amount, currency, expiresAt };
    const request = JSON.parse(
      JSON.stringify(provider.planPayment({ ...given, now })),
    ) as PaymentRequest;
    return { ...given, providerPaymentId: null, request };
  };
  const opened = async (ref = plan()) => {
    const answer = await provider.createPayment(ref);
    if (answer.state !== 'CREATED') throw new Error(`${answer.state}: ${answer.why}`);
    return { ...ref, providerPaymentId: answer.providerPaymentId };
  };
  const sessionsOf = async (paymentId: string) =>
    (await stripe.state()).sessions.filter((one) => one.client_reference_id === paymentId);
  const notices = async (installation = INSTALLATION) => {
    const reader = connect(stripe.url, installation);
    const { events } = await stripe.state();
    return Promise.all(
      events.map(async ({ body, headers }) =>
        reader.readWebhook(Buffer.from(body), headers, new Date()),
      ),
    );
  };

  describe('when the answer to a create call is lost', () => {
    it('finds the session among 20,000 of others in one call', async () => {
      await stripe.populate(20_000);
      const ref = plan();
      await stripe.lose(ALL_TRIES);
      expect(await provider.createPayment(ref)).toMatchObject({ state: 'UNKNOWN' });
      const before = (await stripe.state()).calls.length;
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'UNPAID' });
      expect((await stripe.state()).calls.length - before).toBe(2);
      expect(await provider.closePayment(ref)).toMatchObject({ state: 'CLOSED_UNPAID' });
      expect(await sessionsOf(ref.paymentId)).toMatchObject([{ status: 'expired' }]);
    });

    it('ends at once what only the second call has made', async () => {
      const ref = plan();
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'CLOSED_UNPAID' });
      expect(await sessionsOf(ref.paymentId)).toMatchObject([{ status: 'expired' }]);
    });

    it('knows that nothing was made when Stripe would not make it any more', async () => {
      expect(await provider.findPayment(plan({ plannedAgoMs: 3_600_000 }))).toMatchObject({
        state: 'NEVER_MADE',
        why: expect.stringContaining('expires_at'),
      });
    });

    it('asks nobody once the key is forgotten: a session of that time has ended', async () => {
      const before = (await stripe.state()).calls.length;
      expect(await provider.findPayment(plan({ plannedAgoMs: 86_400_000 }))).toEqual({
        state: 'NOT_FOUND',
      });
      expect((await stripe.state()).calls).toHaveLength(before);
    });

    it('does not know while the first call is still under way', async () => {
      const ref = plan();
      await stripe.hold(ref.paymentId, true);
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'UNKNOWN' });
      await stripe.hold(ref.paymentId, false);
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'CLOSED_UNPAID' });
    });

    it('waits behind a stored 500 until the session has ended by itself, and no longer', async () => {
      const ref = plan();
      await stripe.fail(1);
      expect(await provider.createPayment(ref)).toMatchObject({ state: 'UNKNOWN' });
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'UNKNOWN' });
      const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
      expect(await provider.findPayment(ref)).toEqual({ state: 'NOT_FOUND' });
      now.mockRestore();
    });
  });

  it.each([
    ['ISK', 500, 50_000],
    ['UGX', 5_000, 500_000],
    ['JPY', 500, 500],
    ['KWD', 5_120, 5_120],
    ['MGA', 500_000, 5_000],
    ['EUR', 1_999, 1_999],
  ])('charges %s %d as %d, and tells it back', async (currency, amount, units) => {
    const ref = await opened(plan({ currency, amount }));
    const session = await stripe.pay(ref.providerPaymentId);
    expect(session).toMatchObject({ amount_total: units, currency: currency.toLowerCase() });
    const answer = await provider.findPayment(ref);
    expect(answer).toMatchObject({ state: 'PAID', money: { amount, currency } });
    const told = (await notices()).find((one) => 'money' in one && one.paymentId === ref.paymentId);
    expect(told).toMatchObject({ type: 'payment.succeeded', money: { amount, currency } });
    const { paymentId, providerPaymentId } = ref;
    const back = { paymentId, providerPaymentId, amount, currency, idempotencyKey: uuidv7() };
    await provider.refund(back);
    expect((await stripe.state()).refunds.at(-1)).toMatchObject({ amount: units });
    if (currency !== 'KWD') return;
    const rest = { ...back, amount: 1_235, idempotencyKey: uuidv7() };
    expect(await provider.refund(rest)).toMatchObject({ state: 'FAILED', isForGood: true });
  });

  it.each([
    ['EUR', 49, 'amount_too_small'],
    ['HUF', 17_499, 'amount_too_small'],
    ['JPY', 49, 'amount_too_small'],
    ['KWD', 1_234, 'amount_not_chargeable'],
    ['MGA', 150, 'amount_not_chargeable'],
    ['CLF', 10_000, 'currency_not_supported'],
  ])('refuses %s %d before any call: %s', (currency, amount, code) => {
    expect(() => plan({ currency, amount })).toThrow(expect.objectContaining({ code }));
  });

  it('takes what Stripe says no to for an answer: nothing was made', async () => {
    const ref = plan();
    const { params } = ref.request as { params: object };
    const refused = { ...ref, request: { ...ref.request, params: { ...params, mode: '' } } };
    expect(await provider.createPayment(refused)).toMatchObject({ state: 'REFUSED' });
    const wrongKey = new StripeProvider({
      secretKey: 'sk_live_revoked',
      webhookSecret: 'x',
      apiUrl: stripe.url,
      returnUrl: 'https://shop.test',
      installation: INSTALLATION,
    });
    expect(await wrongKey.createPayment(ref)).toMatchObject({ state: 'NOT_MADE' });
    expect(wrongKey.takesRealMoney).toBe(true);
    expect(await sessionsOf(ref.paymentId)).toEqual([]);
  });

  it('does not offer methods that say days later whether they pay', async () => {
    const ref = await opened();
    expect(await stripe.pay(ref.providerPaymentId, { method: 'sepa_debit' })).toBeNull();
    expect(await stripe.pay(ref.providerPaymentId)).toMatchObject({ payment_status: 'paid' });
  });

  describe('with STRIPE_ASYNC_METHODS=on', () => {
    it.each([
      [true, 'payment.succeeded', 'PAID'],
      [false, 'payment.failed', 'CLOSED_UNPAID'],
    ])('keeps asking until the bank has decided: %s', async (succeeds, type, state) => {
      const patient = new StripeProvider({
        secretKey: 'sk_test_local',
        webhookSecret: STRIPE_WEBHOOK_SECRET,
        apiUrl: stripe.url,
        returnUrl: 'https://shop.test/thanks',
        installation: INSTALLATION,
        offersAsyncMethods: true,
      });
      const given = plan();
      const ref = { ...given, request: patient.planPayment({ ...given, now: new Date() }) };
      const created = await opened(ref);
      await stripe.pay(created.providerPaymentId, { method: 'sepa_debit' });
      expect(await provider.findPayment(created)).toMatchObject({ state: 'IN_FLIGHT' });
      await stripe.settlePayment(created.providerPaymentId, succeeds);
      expect(await provider.findPayment(created)).toMatchObject({ state });
      const last = (await notices()).filter((one) => 'paymentId' in one).at(-1);
      expect(last).toMatchObject({ type, paymentId: ref.paymentId });
    });
  });

  it('tells money by what the page presented, also when it is settled in another currency', async () => {
    const ref = await opened();
    await stripe.pay(ref.providerPaymentId, { charged: { amount: 2_154, currency: 'usd' } });
    const money = { amount: 1_999, currency: 'EUR' };
    expect(await provider.findPayment(ref)).toMatchObject({ state: 'PAID', money });
    expect((await notices()).at(-1)).toMatchObject({ type: 'payment.succeeded', money });
  });

  it('knows its own sessions from those of another installation on the same account', async () => {
    const ref = await opened();
    await stripe.pay(ref.providerPaymentId);
    const theirs = await notices(uuidv7());
    expect(new Set(theirs.map(({ type }) => type))).toEqual(new Set(['ignored']));
    for await (const { payments } of connect(stripe.url, uuidv7()).ledger(new Date(0), null)) {
      expect(payments).toEqual([]);
    }
  });

  it('tells of disputes and of refunds made in the dashboard, in notices and in the ledger', async () => {
    const ref = await opened();
    const { paymentId, providerPaymentId } = ref;
    await stripe.pay(providerPaymentId);
    const refund = await stripe.refundInDashboard(providerPaymentId, 500);
    await until('the refund is settled', async () =>
      (await stripe.state()).events.some(
        ({ type, body }) => type === 'refund.updated' && body.includes(refund.id),
      ),
    );
    const { id: disputeId } = await stripe.dispute(providerPaymentId);
    await stripe.settleDispute(disputeId, false);
    const ids = { paymentId, providerPaymentId };
    const dispute = { ...ids, disputeId, amount: 1_999 };
    const told = (await notices()).filter(
      (one) => 'paymentId' in one && one.paymentId === paymentId,
    );
    expect(told).toMatchObject([
      { type: 'payment.succeeded' },
      {
        type: 'refund.succeeded',
        ...ids,
        providerRefundId: refund.id,
        idempotencyKey: null,
        amount: 500,
      },
      { type: 'dispute.opened', ...dispute },
      { type: 'dispute.opened', ...dispute },
      { type: 'dispute.lost', ...dispute },
    ]);
    expect(await linesOf(paymentId)).toMatchObject([
      {
        refunds: [{ providerRefundId: refund.id, idempotencyKey: null, amount: 500 }],
        disputes: [{ disputeId, amount: 1_999, state: 'LOST' }],
      },
    ]);
  });

  const linesOf = async (paymentId: string): Promise<LedgerPayment[]> => {
    const lines: LedgerPayment[] = [];
    for await (const { payments } of provider.ledger(new Date(Date.now() - 60_000), null)) {
      lines.push(...payments.filter((line) => line.paymentId === paymentId));
    }
    return lines;
  };

  it('shows in its ledger all refunds of a payment, of which Stripe tells ten with its charge', async () => {
    const { paymentId, providerPaymentId } = await opened();
    await stripe.pay(providerPaymentId);
    const ids: string[] = [];
    for (let n = 0; n < 12; n++) {
      ids.push((await stripe.refundInDashboard(providerPaymentId, 100)).id);
    }
    const [line] = await linesOf(paymentId);
    const told = line?.refunds.map(({ providerRefundId }) => providerRefundId) ?? [];
    expect(told.toSorted()).toEqual(ids.toSorted());
  });

  it('shows in its ledger what was made long ago and has changed only now', async () => {
    const [refunded, disputed, quiet] = [await opened(), await opened(), await opened()];
    for (const { providerPaymentId } of [refunded, disputed, quiet]) {
      await stripe.pay(providerPaymentId);
    }
    const idempotencyKey = uuidv7();
    const made = await provider.refund({ ...refunded, idempotencyKey });
    await until('the refund has succeeded', async () => {
      const { refunds } = await stripe.state();
      return refunds.some(({ metadata, status }) =>
        [metadata?.lastcall_key === idempotencyKey, status === 'succeeded'].every(Boolean),
      );
    });
    const { id } = await stripe.dispute(disputed.providerPaymentId);
    await stripe.age(8 * 86_400);
    for (const { paymentId } of [refunded, disputed, quiet]) {
      expect(await linesOf(paymentId)).toEqual([]);
    }
    const providerRefundId = 'providerRefundId' in made ? (made.providerRefundId ?? '') : '';
    await stripe.failRefundLater(providerRefundId);
    await stripe.settleDispute(id, false);
    expect(await linesOf(refunded.paymentId)).toMatchObject([
      { refunds: [{ idempotencyKey, state: 'FAILED' }] },
    ]);
    expect(await linesOf(disputed.paymentId)).toMatchObject([{ disputes: [{ state: 'LOST' }] }]);
    expect(await linesOf(quiet.paymentId)).toEqual([]);
  });

  it('has an event sent again whose payment it could not ask after', async () => {
    const ref = await opened();
    await stripe.pay(ref.providerPaymentId);
    await stripe.dispute(ref.providerPaymentId);
    const event = (await stripe.state()).events.at(-1);
    const away = connect(NOBODY);
    await expect(
      away.readWebhook(Buffer.from(event?.body ?? ''), event?.headers ?? {}, new Date()),
    ).rejects.toMatchObject({ code: 'provider_error' });
  });

  it('says what keeps it from Stripe', async () => {
    const why = expect.stringContaining('ECONNREFUSED 127.0.0.1:9');
    expect(await connect(NOBODY).findRefund('re_1')).toEqual({ state: 'UNKNOWN', why });
  });

  it('finds a webhook endpoint that sends another version, or too little', async () => {
    const [none] = await provider.examine();
    expect(none).toMatchObject({ detail: expect.stringContaining('none'), fix: expect.anything() });
    const endpoint = {
      id: 'we_1',
      object: 'webhook_endpoint',
      api_version: '2020-08-27',
      created: 1,
      enabled_events: ['refund.updated'],
      status: 'enabled',
      url: 'https://shop.test/v1/webhooks/stripe',
    } as const;
    await stripe.register({ ...endpoint, enabled_events: [...endpoint.enabled_events] });
    const [finding] = await provider.examine();
    expect(finding?.detail).toMatch(/version 2020-08-27; it does not send checkout\.session/);
  });
});
