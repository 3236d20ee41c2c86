import { FaultBox, NO_FAULTS } from './faults';
import { Harness } from './testing/harness';

const sandbox = new Harness();
const { clock } = sandbox;

beforeAll(() => sandbox.start());
afterAll(() => sandbox.stop());
beforeEach(() => sandbox.call('DELETE', '/v1/faults'));

async function isKnown(wanted: object): Promise<boolean> {
  const { payments } = (await sandbox.get('/v1/ledger')).body;
  const { reference } = wanted as { reference: string };
  return payments.some((payment: { reference: string }) => payment.reference === reference);
}

describe('the knobs', () => {
  it('merge, are shown, and go back', async () => {
    const { body } = await sandbox.call('PUT', '/v1/faults', { latencyMs: 5 });
    expect(body).toEqual({ ...NO_FAULTS, latencyMs: 5 });
    await sandbox.faults({ failRefunds: true });
    const both = { ...NO_FAULTS, latencyMs: 5, failRefunds: true };
    expect((await sandbox.get('/v1/faults')).body).toEqual(both);
    expect((await sandbox.call('DELETE', '/v1/faults')).body).toEqual(NO_FAULTS);
  });

  it.each([
    ['errorRat', 1],
    ['errorRate', 1.5],
    ['latencyMs', -1],
    ['failRefunds', 'yes'],
    ['dropWebhooks', 2],
    ['duplicateWebhooks', 1.5],
  ])('refuse %s = %j and change nothing', async (field, value) => {
    const patch = { malformedRate: 1, [field]: value };
    const { status, body } = await sandbox.call('PUT', '/v1/faults', patch);
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ field }]);
    expect((await sandbox.get('/v1/faults')).body).toEqual(NO_FAULTS);
  });
});

describe('a provider call', () => {
  it.each([
    ['before', 0],
    ['after', 1],
  ])('fails with 500 %s it was carried out', async (_when, carriedOutRate) => {
    await sandbox.faults({ errorRate: 1, carriedOutRate });
    const wanted = sandbox.newPayment();
    const { status, body } = await sandbox.post('/v1/payments', wanted);
    expect([status, body.code]).toEqual([500, 'internal_error']);
    expect(await isKnown(wanted)).toBe(carriedOutRate === 1);
  });

  it.each([
    ['before', 0],
    ['after', 1],
  ])('is never answered, %s it was carried out', async (_when, carriedOutRate) => {
    await sandbox.faults({ timeoutRate: 1, timeoutHoldMs: 30_000, carriedOutRate });
    const wanted = sandbox.newPayment();
    const held = clock.nextTimer();
    const answer = sandbox.post('/v1/payments', wanted).then(
      () => 'answered',
      () => 'dropped',
    );
    await held;
    expect(await isKnown(wanted)).toBe(carriedOutRate === 1);
    clock.advance(30_000);
    expect(await answer).toBe('dropped');
  });

  it('is refused with 429 and not carried out', async () => {
    await sandbox.faults({ rateLimitRate: 1, retryAfterSeconds: 7 });
    const wanted = sandbox.newPayment();
    const { status, headers, body } = await sandbox.post('/v1/payments', wanted);
    expect([status, body.code, headers.get('retry-after')]).toEqual([429, 'rate_limited', '7']);
    expect(await isKnown(wanted)).toBe(false);
  });

  it('is refused for good with 422 and not carried out', async () => {
    await sandbox.faults({ refuseRate: 1 });
    const wanted = sandbox.newPayment();
    const { status, body } = await sandbox.post('/v1/payments', wanted);
    expect([status, body.code]).toEqual([422, 'refused']);
    expect(await isKnown(wanted)).toBe(false);
  });

  it('is carried out and answered with garbage', async () => {
    await sandbox.faults({ malformedRate: 1 });
    const wanted = sandbox.newPayment();
    await expect(sandbox.post('/v1/payments', wanted)).rejects.toThrow(SyntaxError);
    expect(await isKnown(wanted)).toBe(true);
  });

  it('takes its time', async () => {
    await sandbox.faults({ latencyMs: 700 });
    const wanted = sandbox.newPayment();
    const waiting = clock.nextTimer();
    const answer = sandbox.post('/v1/payments', wanted);
    await waiting;
    expect(await isKnown(wanted)).toBe(false);
    clock.advance(700);
    expect((await answer).status).toBe(201);
  });

  it('goes wrong only where and as often as it is told to', async () => {
    await sandbox.faults({ errorRate: 1, operations: ['payment.get'], times: 1 });
    const id = await sandbox.openPayment();
    expect((await sandbox.get(`/v1/payments/${id}`)).status).toBe(500);
    expect((await sandbox.get(`/v1/payments/${id}`)).status).toBe(200);
  });

  it.each(['/v1/ledger', '/v1/faults', '/v1/webhooks', '/health'])(
    '%s always works',
    async (path) => {
      await sandbox.faults({ errorRate: 1 });
      expect((await sandbox.get(path)).status).toBe(200);
    },
  );

  it('leaves the buyer alone', async () => {
    const id = await sandbox.openPayment();
    await sandbox.faults({ errorRate: 1 });
    expect((await sandbox.post(`/v1/payments/${id}/pay`)).status).toBe(200);
    expect((await fetch(`${sandbox.url}/pay/${id}`)).status).toBe(200);
  });

  it('lets a closed payment be paid when captures come late', async () => {
    const id = await sandbox.openPayment();
    await sandbox.post(`/v1/payments/${id}/close`);
    await sandbox.faults({ captureAfterClose: true });
    expect((await sandbox.post(`/v1/payments/${id}/pay`)).body.status).toBe('paid');
  });
});

describe('the dice', () => {
  const rolls = (seed: number): unknown[] => {
    const faults = new FaultBox();
    faults.merge({ seed, errorRate: 0.3, timeoutRate: 0.3, dropWebhooks: 0.5 });
    return Array.from({ length: 200 }, () => [faults.planCall('payment.get'), faults.rollDrop()]);
  };

  it('fall the same way for the same seed', () => {
    expect(rolls(7)).toEqual(rolls(7));
    expect(rolls(7)).not.toEqual(rolls(8));
  });

  it('carry out about half of the calls that go wrong', () => {
    const faults = new FaultBox();
    faults.merge({ seed: 1, errorRate: 1 });
    const plans = Array.from({ length: 1000 }, () => faults.planCall('refund.create'));
    const carriedOut = plans.filter((plan) => plan.carriedOut).length;
    expect(carriedOut).toBeGreaterThan(400);
    expect(carriedOut).toBeLessThan(600);
  });
});
