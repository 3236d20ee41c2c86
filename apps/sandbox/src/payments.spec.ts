import { Harness } from './testing/harness';

const sandbox = new Harness();
const { receiver, clock } = sandbox;

beforeAll(() => sandbox.start());
afterAll(() => sandbox.stop());

describe('creating a payment', () => {
  it('answers with an open payment and its pay page', async () => {
    const expiresAt = sandbox.inMs(600_000);
    const wanted = { reference: 'first', amount: 1999, currency: 'EUR', expiresAt };
    const { status, body } = await sandbox.post('/v1/payments', wanted);
    expect(status).toBe(201);
    expect(body).toEqual({
      ...wanted,
      id: expect.stringMatching(/^pay_[0-9a-f]{32}$/),
      status: 'open',
      createdAt: sandbox.inMs(0),
      changedAt: sandbox.inMs(0),
      paidAt: null,
      closedAt: null,
      capturedAmount: 0,
      capturedCurrency: null,
      payBy: null,
      lines: [],
      successUrl: null,
      cancelUrl: null,
      checkoutUrl: `${sandbox.url}/pay/${body.id}`,
      refunds: [],
      disputes: [],
    });
  });

  it('answers a repeated reference with the same payment', async () => {
    const wanted = sandbox.newPayment();
    const [one, other] = await Promise.all([
      sandbox.post('/v1/payments', wanted),
      sandbox.post('/v1/payments', wanted),
    ]);
    expect([one.status, other.status].sort()).toEqual([200, 201]);
    expect(one.body).toEqual(other.body);
  });

  it.each([{ amount: 2000 }, { currency: 'USD' }])(
    'refuses a known reference with %j',
    async (change) => {
      const wanted = sandbox.newPayment();
      await sandbox.post('/v1/payments', wanted);
      const { status, body } = await sandbox.post('/v1/payments', { ...wanted, ...change });
      expect([status, body.code]).toEqual([409, 'reference_reused']);
    },
  );

  it.each([
    ['reference', ''],
    ['amount', 19.99],
    ['amount', 0],
    ['amount', '1999'],
    ['currency', 'euro'],
    ['lines', [{ name: 'Tea', quantity: 1, unitPrice: 1998 }]],
    ['successUrl', 'javascript:alert(1)'],
    ['expiresAt', 'tomorrow'],
    ['expiresAt', '2001-01-01T00:00:00Z'],
    // By the clock of UTC it is the year 10,000, which no other program would read.
    ['expiresAt', '9999-12-31T23:59:59-01:00'],
    ['payBy', '9999-12-31T23:59:59-01:00'],
    ['status', 'paid'],
  ])('names the field %s when it is %j, and keeps nothing', async (field, value) => {
    const before = (await sandbox.get('/health')).body;
    const { status, headers, body } = await sandbox.post(
      '/v1/payments',
      sandbox.newPayment({ [field]: value }),
    );
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(headers.get('content-type')).toContain('application/problem+json');
    expect(body.errors).toEqual([{ field, message: expect.any(String) }]);
    expect((await sandbox.get('/health')).body).toEqual(before);
  });

  it('finds a payment by id and by reference', async () => {
    const wanted = sandbox.newPayment({ reference: 'find me / & ä' });
    const { body } = await sandbox.post('/v1/payments', wanted);
    const query = new URLSearchParams({ reference: 'find me / & ä' });
    expect((await sandbox.get(`/v1/payments?${query}`)).body).toEqual({ items: [body] });
    expect((await sandbox.get(`/v1/payments/${body.id}`)).body).toEqual(body);
    expect((await sandbox.get('/v1/payments?reference=nobody')).body).toEqual({ items: [] });
    const unknown = await sandbox.get('/v1/payments/pay_0');
    expect([unknown.status, unknown.body.code]).toEqual([404, 'payment_not_found']);
  });
});

describe('paying', () => {
  it('captures what was asked, now, and tells the merchant', async () => {
    const id = await sandbox.openPayment();
    const { status, body } = await sandbox.post(`/v1/payments/${id}/pay`);
    expect(status).toBe(200);
    const paidAt = sandbox.inMs(0);
    expect(body).toMatchObject({ status: 'paid', paidAt, capturedAmount: 1999 });
    const { type, data } = await receiver.next();
    expect(type).toBe('payment.succeeded');
    expect(data).toEqual({
      providerPaymentId: id,
      reference: body.reference,
      amount: 1999,
      currency: 'EUR',
      paidAt,
    });
  });

  it('can be told another instant, amount and currency', async () => {
    const id = await sandbox.openPayment();
    const paidAt = sandbox.inMs(-3000);
    await sandbox.post(`/v1/payments/${id}/pay`, { paidAt, amount: 1, currency: 'USD' });
    const { data } = await receiver.next();
    expect(data).toMatchObject({ amount: 1, currency: 'USD', paidAt });
    const { body } = await sandbox.get(`/v1/payments/${id}`);
    expect(body).toMatchObject({
      amount: 1999,
      currency: 'EUR',
      capturedAmount: 1,
      capturedCurrency: 'USD',
    });
  });

  it('happens once', async () => {
    const id = await sandbox.paidPayment();
    const { status, body } = await sandbox.post(`/v1/payments/${id}/pay`);
    expect([status, body.code, body.payment.id]).toEqual([409, 'already_paid', id]);
  });

  it('is refused once the payment is closed, unless the test wants it late', async () => {
    const id = await sandbox.openPayment();
    await sandbox.post(`/v1/payments/${id}/close`);
    expect((await receiver.next()).type).toBe('payment.closed');
    const refused = await sandbox.post(`/v1/payments/${id}/pay`);
    expect([refused.status, refused.body.code]).toEqual([409, 'payment_closed']);
    const late = await sandbox.post(`/v1/payments/${id}/pay`, { afterClose: true });
    expect(late.body.status).toBe('paid');
    expect((await receiver.next()).type).toBe('payment.succeeded');
  });

  it('lands after the close when the money had moved before it', async () => {
    const id = await sandbox.openPayment();
    const { closedAt } = (await sandbox.post(`/v1/payments/${id}/close`)).body;
    expect((await receiver.next()).type).toBe('payment.closed');
    const tooLate = await sandbox.post(`/v1/payments/${id}/pay`, { paidAt: closedAt });
    expect([tooLate.status, tooLate.body.code]).toEqual([409, 'payment_closed']);
    const paidAt = new Date(Date.parse(closedAt) - 1).toISOString();
    const inTime = await sandbox.post(`/v1/payments/${id}/pay`, { paidAt });
    expect(inTime.body).toMatchObject({ status: 'paid', paidAt });
    expect((await receiver.next()).type).toBe('payment.succeeded');
  });

  it('names a field that is wrong and stays open', async () => {
    const id = await sandbox.openPayment();
    const { status, body } = await sandbox.post(`/v1/payments/${id}/pay`, { paidAt: 'soon' });
    expect([status, body.errors[0].field]).toEqual([400, 'paidAt']);
    expect((await sandbox.get(`/v1/payments/${id}`)).body.status).toBe('open');
  });

  it('can fail, for good and without money', async () => {
    const id = await sandbox.openPayment();
    const failed = await sandbox.post(`/v1/payments/${id}/fail`);
    expect(failed.body).toMatchObject({ status: 'failed', paidAt: null });
    const { type, data } = await receiver.next();
    expect([type, data['paidAt']]).toEqual(['payment.failed', null]);
    expect((await sandbox.post(`/v1/payments/${id}/pay`)).body.code).toBe('payment_failed');
    expect((await sandbox.post(`/v1/payments/${id}/close`)).body.status).toBe('failed');
  });
});

describe('closing', () => {
  it('is idempotent and told once', async () => {
    const id = await sandbox.openPayment();
    const [one, other] = await Promise.all([
      sandbox.post(`/v1/payments/${id}/close`),
      sandbox.post(`/v1/payments/${id}/close`),
    ]);
    expect([one.status, other.status]).toEqual([200, 200]);
    expect(one.body).toEqual(other.body);
    expect(one.body).toMatchObject({ status: 'closed', closedAt: sandbox.inMs(0) });
    await receiver.next();
    expect(await eventsOf(id)).toEqual(['payment.closed']);
  });

  it('answers "already paid" with the payment', async () => {
    const id = await sandbox.paidPayment();
    const { status, body } = await sandbox.post(`/v1/payments/${id}/close`);
    expect([status, body.code]).toEqual([409, 'already_paid']);
    expect(body.payment).toMatchObject({ id, status: 'paid', capturedAmount: 1999 });
  });

  it('has one winner when it meets a payment', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => sandbox.openPayment()));
    const winners = await Promise.all(
      ids.map(async (id, index) => {
        const steps = index % 2 === 0 ? ['pay', 'close'] : ['close', 'pay'];
        const answers = await Promise.all(
          steps.map((step) => sandbox.post(`/v1/payments/${id}/${step}`)),
        );
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
        const { status } = (await sandbox.get(`/v1/payments/${id}`)).body;
        const winner = answers.find((answer) => answer.status === 200);
        expect(winner?.body.status).toBe(status);
        return [id, status === 'paid' ? 'payment.succeeded' : 'payment.closed'];
      }),
    );
    await receiver.take(ids.length);
    for (const [id, type] of winners) expect(await eventsOf(id!)).toEqual([type]);
  });
});

describe('expiry', () => {
  it('closes an open payment at its instant and tells the merchant', async () => {
    const id = await sandbox.openPayment({ expiresAt: sandbox.inMs(60_000) });
    clock.advance(59_999);
    expect((await sandbox.get(`/v1/payments/${id}`)).body.status).toBe('open');
    clock.advance(1);
    const { type, data } = await receiver.next();
    expect([type, data['providerPaymentId']]).toEqual(['payment.closed', id]);
    const refused = await sandbox.post(`/v1/payments/${id}/pay`);
    expect(refused.body.code).toBe('payment_closed');
  });

  it('is moved by an extension, and never brought forward', async () => {
    const id = await sandbox.openPayment({
      expiresAt: sandbox.inMs(60_000),
      payBy: sandbox.inMs(50_000),
    });
    const later = { expiresAt: sandbox.inMs(120_000), payBy: sandbox.inMs(110_000) };
    const extended = await sandbox.post(`/v1/payments/${id}/extend`, later);
    expect([extended.status, extended.body]).toMatchObject([200, { ...later, status: 'open' }]);
    const earlier = { expiresAt: sandbox.inMs(1), payBy: sandbox.inMs(1) };
    const same = await sandbox.post(`/v1/payments/${id}/extend`, earlier);
    expect(same.body).toMatchObject(later);
    clock.advance(119_999);
    expect((await sandbox.get(`/v1/payments/${id}`)).body.status).toBe('open');
    clock.advance(1);
    expect((await receiver.next()).type).toBe('payment.closed');
    const refused = await sandbox.post(`/v1/payments/${id}/extend`, {
      expiresAt: sandbox.inMs(60_000),
    });
    expect([refused.status, refused.body.code]).toEqual([409, 'payment_closed']);
  });

  it('leaves a paid payment alone', async () => {
    const id = await sandbox.openPayment({ expiresAt: sandbox.inMs(60_000) });
    await sandbox.post(`/v1/payments/${id}/pay`);
    await receiver.next();
    clock.advance(120_000);
    expect((await sandbox.get(`/v1/payments/${id}`)).body.status).toBe('paid');
    expect(await eventsOf(id)).toEqual(['payment.succeeded']);
  });
});

async function eventsOf(paymentId: string): Promise<string[]> {
  const { body } = await sandbox.get(`/v1/webhooks?providerPaymentId=${paymentId}`);
  return body.items.map(({ type }: { type: string }) => type);
}
