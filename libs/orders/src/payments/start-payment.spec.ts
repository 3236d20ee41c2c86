import { insertOrders } from '../../../../test/support/insert-orders';
import { LedgerProvider } from '../../../../test/support/ledger-provider';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { ExtendPayments } from '../closing/extend-payments';
import { answerTo } from '../http/error-problem';
import { StartPayment } from './start-payment';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(() => {
  world.provider.unreachable = undefined;
  world.provider.refusal = undefined;
});

const NOT_MADE = { state: 'NOT_MADE', why: 'the breaker is open' } as const;
const NO_PAGE = { code: 'provider_error' };

const place = async (): Promise<string> => {
  const [order] = await insertOrders(world, { count: 1, closesInMs: 3_600_000 });
  return order?.id as string;
};
const start = (orderId: string, at = world) =>
  at.get(StartPayment).start({ orderId, customerId: 'ann', idempotencyKey: 'k' });
const paymentsOf = (orderId: string) =>
  world.rows<{ id: string; status: string }>(
    'SELECT id, status FROM payments WHERE order_id = $1 ORDER BY id',
    [orderId],
  );

describe('StartPayment, its key repeated', () => {
  it('goes on at the provider where it began, whichever is the first by now', async () => {
    const orderId = await place();
    world.provider.unreachable = 'after';
    await expect(start(orderId)).rejects.toMatchObject(NO_PAGE);
    world.provider.unreachable = undefined;
    const pear = new LedgerProvider('pear');
    const later = await openWorld({ beside: world, providers: [pear, world.provider] });
    try {
      const { payment, replayed } = await start(orderId, later);
      expect([payment.provider, replayed]).toEqual(['sandbox', true]);
      expect(payment.checkoutUrl).not.toBeNull();
      expect([...pear.entries.keys()]).toEqual([]);
      expect(world.provider.entries.has(payment.providerPaymentId as string)).toBe(true);
    } finally {
      await later.close();
    }
  });

  it('goes on with a payment that may have been made, though this time nothing was sent', async () => {
    const orderId = await place();
    world.provider.unreachable = 'after';
    await expect(start(orderId)).rejects.toMatchObject(NO_PAGE);
    world.provider.unreachable = undefined;
    world.provider.refusal = NOT_MADE;
    await expect(start(orderId)).rejects.toMatchObject(NO_PAGE);
    expect(await paymentsOf(orderId)).toMatchObject([{ status: 'open' }]);
    world.provider.refusal = undefined;
    const { payment } = await start(orderId);
    expect(await paymentsOf(orderId)).toEqual([{ id: payment.id, status: 'open' }]);
    expect(payment.checkoutUrl).not.toBeNull();
  });

  it('opens another payment where none was made, and then stands for that one', async () => {
    const orderId = await place();
    world.provider.refusal = NOT_MADE;
    await expect(start(orderId)).rejects.toMatchObject(NO_PAGE);
    await expect(start(orderId)).rejects.toMatchObject(NO_PAGE);
    world.provider.refusal = undefined;
    const [one, two] = await Promise.all([start(orderId), start(orderId)]);
    expect(two.payment.id).toBe(one.payment.id);
    expect([one.replayed, two.replayed].sort()).toEqual([false, true]);
    expect(one.payment.checkoutUrl).not.toBeNull();
    const again = await start(orderId);
    expect(again).toMatchObject({ payment: one.payment, replayed: true });
    // Ids of one millisecond are in no order.
    expect((await paymentsOf(orderId)).map(({ status }) => status).sort()).toEqual([
      ...['failed', 'failed', 'open'],
    ]);
  });

  it('opens one after any number of tries of which the provider has made none', async () => {
    const orderId = await place();
    world.provider.refusal = NOT_MADE;
    for (let tries = 0; tries < 21; tries++) {
      await expect(start(orderId)).rejects.toMatchObject(NO_PAGE);
    }
    world.provider.refusal = undefined;
    expect((await start(orderId)).payment.checkoutUrl).not.toBeNull();
  });

  it('stands for a payment that its provider has made and given up, and opens no other', async () => {
    const orderId = await place();
    const { payment } = await start(orderId);
    await world.rows(`UPDATE payments SET status = 'failed' WHERE id = $1`, [payment.id]);
    expect(await start(orderId)).toMatchObject({ payment: { id: payment.id }, replayed: true });
    expect(await paymentsOf(orderId)).toEqual([{ id: payment.id, status: 'failed' }]);
  });

  it('goes on with a payment that its provider refuses, having told of it as made', async () => {
    const orderId = await place();
    world.provider.refusal = { state: 'REFUSED', why: 'the amount is too small' };
    // Its webhook, faster than the answer to an earlier call.
    world.provider.around = async () => {
      world.provider.around = async () => undefined;
      const sql = `UPDATE payments SET provider_payment_id = 'pay-' || id WHERE order_id = $1`;
      await world.rows(sql, [orderId]);
    };
    await expect(start(orderId)).rejects.toMatchObject({ code: 'payment_refused' });
    expect(await paymentsOf(orderId)).toMatchObject([{ status: 'open' }]);
  });

  it('refuses another request, also where no payment was made', async () => {
    const orderId = await place();
    world.provider.refusal = NOT_MADE;
    await expect(start(orderId)).rejects.toMatchObject(NO_PAGE);
    const other = { orderId, customerId: 'ann', idempotencyKey: 'k', provider: 'sandbox' };
    await expect(world.get(StartPayment).start(other)).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
  });

  it('leaves no payment open at the provider that the first call has given up', async () => {
    const orderId = await place();
    let second: Promise<unknown> | undefined;
    let isGivenUp: () => void = () => undefined;
    const givenUp = new Promise<void>((resolve) => (isGivenUp = resolve));
    const create = world.provider.createPayment.bind(world.provider);
    const calls = jest
      .spyOn(world.provider, 'createPayment')
      // The second call is under way while the first one is turned away.
      .mockImplementationOnce(async () => {
        second = start(orderId);
        second.catch(() => undefined);
        await until('it is called again', () => calls.mock.calls.length === 2);
        return NOT_MADE;
      })
      .mockImplementationOnce(async (ref) => {
        await givenUp;
        return create(ref);
      });
    await expect(start(orderId)).rejects.toMatchObject(NO_PAGE);
    isGivenUp();
    await expect(second).rejects.toMatchObject(NO_PAGE);
    calls.mockRestore();
    const { payment } = await start(orderId);
    expect(await paymentsOf(orderId)).toMatchObject([
      { status: 'failed' },
      { id: payment.id, status: 'open' },
    ]);
    const [first] = await paymentsOf(orderId);
    expect(world.provider.entries.get(`pay-${first?.id}`)?.status).toBe('closed');
    expect(world.provider.entries.get(`pay-${payment.id}`)?.status).toBe('open');
  });
});

it('says that it is not known what became of a payment that a failover has undone', async () => {
  const orderId = await place();
  // By now its page is written down, and the new primary has not heard of it.
  const extending = jest.spyOn(world.get(ExtendPayments), 'extendFor');
  extending.mockImplementationOnce(async () => {
    await world.rows('DELETE FROM payments WHERE order_id = $1', [orderId]);
    return [];
  });
  const refused = await start(orderId).catch((error: unknown) => answerTo(error));
  extending.mockRestore();
  expect(refused).toMatchObject({
    problem: { status: 503, code: 'unavailable' },
    headers: { 'retry-after': '2' },
  });
});

it('tells the log what keeps it from the provider, and the customer only that', async () => {
  const why = 'Expired API Key provided: sk_live_****1234';
  world.provider.refusal = { state: 'NOT_MADE', why };
  const error = await start(await place()).catch((caught: unknown) => caught);
  expect(answerTo(error).problem).toMatchObject({ status: 502, provider: 'sandbox' });
  expect(JSON.stringify(answerTo(error))).not.toContain('API Key');
  const logged = world.told.filter(({ name }) => name === 'failed').at(-1);
  expect(logged?.args).toEqual(['open payment', new Error(`sandbox: ${why}`)]);
});

describe('StartPayment, whose call was held up until the payment had ended', () => {
  const alerts = () => world.told.filter(({ name }) => name === 'alert');
  /** While the provider is called, who refuses what has ended. */
  async function startLate(orderId: string, closesIn: string): Promise<unknown> {
    world.provider.refusal = { state: 'REFUSED', why: 'expires_at is in the past' };
    world.provider.around = async () => {
      world.provider.around = async () => undefined;
      await world.rows(`UPDATE payments SET expires_at = now() WHERE order_id = $1`, [orderId]);
      const sql = 'UPDATE orders SET closes_at = now() + $2::interval WHERE id = $1';
      await world.rows(sql, [orderId, closesIn]);
    };
    return start(orderId).catch((error: unknown) => answerTo(error).problem);
  }

  it('says that the time to pay is over, and alerts nobody', async () => {
    const before = alerts().length;
    const refused = await startLate(await place(), '-1 s');
    expect(refused).toMatchObject({ status: 409, code: 'payment_window_over' });
    expect(alerts()).toHaveLength(before);
  });

  it('opens another one for an order that was given more time', async () => {
    const orderId = await place();
    expect(await startLate(orderId, '1 hour')).toMatchObject({ code: 'provider_error' });
    world.provider.refusal = undefined;
    expect((await start(orderId)).payment.checkoutUrl).not.toBeNull();
  });
});
