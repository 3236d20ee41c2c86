import { LedgerProvider, type Posted } from '../../../../test/support/ledger-provider';
import { insertOrders, type InsertedOrder } from '../../../../test/support/insert-orders';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { SettleClosing } from '../closing/settle-closing';
import { CancelOrder } from '../closing/cancel-order';
import { CreateRefund } from '../ops/create-refund';
import { ReceiveWebhook } from '../payments/receive-webhook';
import { PaymentProviders } from './payment-providers';
import { SandboxProvider } from './sandbox/sandbox.provider';
import { StrandedWork } from './stranded-work';
import { StripeProvider } from './stripe/stripe.provider';
import { HostsProvider, SwitchedOffProvider } from './switched-off.provider';

const provider = (name: string, takesRealMoney: boolean) =>
  Object.assign(new LedgerProvider(name), { takesRealMoney });

describe('PaymentProviders', () => {
  it('gives new payments to the first, unless another one is chosen', () => {
    const both = new PaymentProviders([provider('acme', true), provider('pear', true)]);
    expect(both.choose(undefined).name).toBe('acme');
    expect(both.choose('pear').name).toBe('pear');
    expect(() => both.choose('unheard-of')).toThrow(/choose one of: acme, pear/);
  });

  it('lets nobody pay with play money where money is real', () => {
    const shop = new PaymentProviders([provider('acme', true), provider('sandbox', false)]);
    expect(() => shop.choose('sandbox')).toThrow(
      expect.objectContaining({ code: 'provider_not_available', fields: { providers: ['acme'] } }),
    );
    // Its old payments are its own all the same.
    expect(shop.of('sandbox').name).toBe('sandbox');
  });

  it.each([
    ['sk_live_key', false],
    ['rk_live_key', false],
    ['sk_test_key', true],
    ['rk_test_key', true],
  ])('knows that beside Stripe with %s the sandbox can be chosen: %s', (secretKey, isOffered) => {
    const stripe = new StripeProvider({
      ...{ secretKey, webhookSecret: 'whsec_secret', installation: 'ours' },
      ...{ apiUrl: 'http://127.0.0.1:9', returnUrl: 'https://shop.example/thanks' },
    });
    const sandbox = new SandboxProvider({ url: 'http://127.0.0.1:9', webhookSecrets: [] });
    const shop = new PaymentProviders([stripe, sandbox]);
    const choose = () => shop.choose('sandbox').name;
    if (isOffered) expect(choose()).toBe('sandbox');
    else expect(choose).toThrow(/choose one of: stripe$/);
    // Whoever plays may also pay for real.
    expect(new PaymentProviders([sandbox, stripe]).choose('stripe').name).toBe('stripe');
  });

  it('knows nothing of the payments of one that is switched off', async () => {
    const gone = new PaymentProviders([provider('acme', true)]).of('pear');
    const ref = { amount: 1, currency: 'EUR', expiresAt: new Date(), providerPaymentId: 'x' };
    const nothing = {
      state: 'UNKNOWN',
      why: expect.stringContaining('add it to PAYMENT_PROVIDERS'),
    };
    expect(await gone.findPayment({ ...ref, paymentId: 'p' })).toMatchObject(nothing);
    const moreTime = { payBy: new Date(), expiresAt: new Date() };
    expect(await gone.extendPayment?.({ ...ref, paymentId: 'p' }, moreTime)).toMatchObject(nothing);
  });

  it("refuses without it what one of ours refuses for certain, and knows no rule of a host's", () => {
    const uneven = { amount: 1_235, currency: 'KWD' };
    const away = new SwitchedOffProvider('stripe', 'STRIPE_SECRET_KEY is not set here');
    expect(() => away.planRefund(uneven)).toThrow(
      expect.objectContaining({ code: 'amount_not_chargeable' }),
    );
    new HostsProvider('stripe').planRefund(uneven);
    new HostsProvider('acme').planRefund(uneven);
    const takes = [away, new HostsProvider('stripe')].map((one) =>
      ['EUR', 'XCG', 'XTS'].map((currency) => one.takes(currency)),
    );
    expect(takes).toEqual([
      [true, false, false],
      [true, true, false],
    ]);
  });
});

describe('a payment of a provider that new payments do not go to', () => {
  const pear = new LedgerProvider('pear');
  let world: World;
  let order: InsertedOrder & { paymentId: string };
  beforeAll(async () => (world = await openWorld({ providers: [new LedgerProvider(), pear] })));
  afterAll(() => world?.close());
  beforeEach(async () => {
    const [inserted] = await insertOrders(world, { count: 1, closesInMs: 60_000, payment: 'open' });
    order = inserted as InsertedOrder & { paymentId: string };
    await world.rows(`UPDATE payments SET provider = 'pear' WHERE id = $1`, [order.paymentId]);
    pear.open({ paymentId: order.paymentId, amount: order.amount, currency: 'EUR' });
  });

  const status = async () =>
    (await world.rows<{ status: string }>('SELECT status FROM orders WHERE id = $1', [order.id]))[0]
      ?.status;
  /** The answer waits for the provider for a moment only. */
  const cancel = async (): Promise<void> => {
    await world.get(CancelOrder).cancel(order.id, 'ann');
    await until('it is closed', async () => (await status()) === 'closed');
  };
  const paid = () => pear.pay(order.paymentId, new Date(), { late: true });

  it('is ended where it was opened', async () => {
    await cancel();
    expect(pear.entries.get(`pay-${order.paymentId}`)?.status).toBe('closed');
    expect(await world.get(SettleClosing).settle(order.id)).toBe('nothing');
  });

  it('is paid by a webhook of that provider, and of no other', async () => {
    const notice = paid();
    const receive = (from: string) =>
      world.get(ReceiveWebhook).receive(from, notice?.body ?? Buffer.of(), notice?.headers ?? {});
    await receive('pear');
    expect(await status()).toBe('paid');
    await expect(receive('plum')).rejects.toMatchObject({ code: 'unknown_provider' });
  });

  it('is not touched by what another provider says of it', async () => {
    const forged = paid();
    await world
      .get(ReceiveWebhook)
      .receive('sandbox', forged?.body ?? Buffer.of(), forged?.headers ?? {});
    expect(await status()).toBe('pending_payment');
    expect(
      await world.rows(`SELECT status, result FROM webhook_events WHERE provider = 'sandbox'`),
    ).toEqual([{ status: 'held', result: 'unknown_reference' }]);
  });

  it('is refunded where the money is', async () => {
    await cancel();
    const late = paid();
    await world.get(ReceiveWebhook).receive('pear', late?.body ?? Buffer.of(), late?.headers ?? {});
    await world.timeouts.runSweep();
    expect(pear.entries.get(`pay-${order.paymentId}`)?.refunds).toHaveLength(1);
  });
});

describe('StrandedWork', () => {
  type Placed = InsertedOrder & { paymentId: string };
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());
  beforeEach(() => world.rows(`UPDATE payments SET provider = 'sandbox'`));

  const placed = (count: number) =>
    insertOrders(world, { count, closesInMs: 60_000, payment: 'open' }) as Promise<Placed[]>;
  const receive = (posted: Posted | undefined) =>
    world.get(ReceiveWebhook).receive('sandbox', posted?.body as Buffer, posted?.headers ?? {});
  const paid = async ({ paymentId, amount }: Placed) => {
    const entry = world.provider.open({ paymentId, amount, currency: 'EUR' });
    await receive(world.provider.pay(paymentId, new Date()));
    return entry;
  };
  const refund = ({ id }: Placed, amount: number) =>
    world.get(CreateRefund).create(id, { amount, actor: 'olga', reason: 'case 9' });
  /** As if they had been opened there. */
  const move = (name: string, orders: readonly Placed[]) =>
    world.rows('UPDATE payments SET provider = $1 WHERE id = ANY ($2::uuid[])', [
      name,
      orders.map(({ paymentId }) => paymentId),
    ]);

  it('refuses to serve without a provider that payments need, and names it and how much', async () => {
    const orders = await placed(5);
    const stranded = world.get(StrandedWork);
    expect(await stranded.find()).toEqual([]);
    const [open, refunded, captured, ended] = orders as [Placed, Placed, Placed, Placed];
    await paid(refunded);
    await paid(captured);
    await refund(refunded, refunded.amount);
    await move('pear', [open, refunded, captured, ended]);
    await world.rows(`UPDATE payments SET status = 'closed' WHERE id = $1`, [ended.paymentId]);
    expect(await stranded.find()).toEqual([
      { provider: 'pear', openPayments: 1, unfinishedRefunds: 1, refundable: 1 },
    ]);
    await expect(stranded.refuse()).rejects.toThrow(
      /pear: 1 open payments, 1 unfinished refunds, 1 captured .*\nSet PAYMENT_PROVIDERS=sandbox,pear/s,
    );
    await world.rows(`UPDATE payments SET status = 'closed' WHERE id = $1`, [open.paymentId]);
    await world.rows(`UPDATE refunds SET status = 'succeeded'`);
    await world.rows(`UPDATE orders SET status = 'completed' WHERE status = 'paid'`);
    await expect(stranded.refuse()).resolves.toBeUndefined();
  });

  it('needs no provider for a refund that was canceled', async () => {
    const [order] = (await placed(1)) as [Placed];
    await paid(order);
    await world.rows(
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, status)
       VALUES (gen_random_uuid(), $1, 'late_payment', 500, 'EUR', 'canceled')`,
      [order.paymentId],
    );
    await world.rows(`UPDATE orders SET status = 'completed' WHERE id = $1`, [order.id]);
    await move('plum', [order]);
    expect(await world.get(StrandedWork).find()).toEqual([]);
  });

  it('needs a provider for what is left of a payment, and for what the bank may give back', async () => {
    const orders = (await placed(5)) as [Placed, Placed, Placed, Placed, Placed];
    const [partly, wholly, disputed, over, unsent] = orders;
    await paid(partly);
    await paid(wholly);
    await refund(partly, 100);
    await refund(wholly, wholly.amount);
    await world.timeouts.runSweep();
    const paymentIds = [partly.paymentId, wholly.paymentId];
    await until('both refunds are made', async () => {
      const unfinished = `SELECT FROM refunds WHERE payment_id = ANY ($1) AND status <> 'succeeded'`;
      return (await world.rows(unfinished, [paymentIds])).length === 0;
    });
    await receive(world.provider.disputed(await paid(disputed)));
    await receive(world.provider.disputed(await paid(over)));
    await world.rows(`UPDATE orders SET status = 'closed' WHERE id = $1`, [over.id]);
    await paid(unsent);
    await refund(unsent, unsent.amount);
    const find = async (name: string, order: Placed) => {
      await move(name, [order]);
      return (await world.get(StrandedWork).find()).filter(({ provider }) => provider === name);
    };
    const one = { openPayments: 0, unfinishedRefunds: 0, refundable: 1 };
    expect(await find('lime', partly)).toEqual([{ provider: 'lime', ...one }]);
    expect(await find('kiwi', wholly)).toEqual([]);
    expect(await find('pear', disputed)).toEqual([{ provider: 'pear', ...one }]);
    expect(await find('plum', over)).toEqual([{ provider: 'plum', ...one }]);
    const refundAlone = { openPayments: 0, unfinishedRefunds: 1, refundable: 0 };
    expect(await find('fig', unsent)).toEqual([{ provider: 'fig', ...refundAlone }]);
  });
});
