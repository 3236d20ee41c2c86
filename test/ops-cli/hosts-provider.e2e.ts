import 'reflect-metadata';
import {
  type Check,
  type Config,
  DATABASE,
  type Extended,
  type HeldPayment,
  hostOptionsAsConfig,
  LastcallError,
  migrate,
  OrdersModule,
  type OrdersHostOptions,
  type PaymentProvider,
  PlaceOrder,
  ReceiveWebhook,
  seedProducts,
  StartPayment,
} from '@app/orders';
import { Test, type TestingModule } from '@nestjs/testing';
import type { DataSource } from 'typeorm';
import { CLI_TEST_TIMEOUT_MS } from '../support/cli-world';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { holdMoney } from '../support/hold-money';
import { endHost, lastcall, lastcallJson, type RunOptions } from '../support/lastcall';
import { LedgerProvider, type Posted } from '../support/ledger-provider';
import { until } from '../support/until';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const BY = ['--reason', 'case 17', '--actor', 'eve', '--yes'];
const SKU = 'TEA-SENCHA';

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

/** The command has neither the provider nor a secret of one: what it knows, processes have told. */
describe('lastcall beside a host with a provider of its own', () => {
  const acme = new LedgerProvider('acme');
  const calls: string[] = [];
  let database: TestDatabase;
  let host: TestingModule;
  let config: Config;
  let orderId: string;
  let heldId: string;
  let hasStopped = false;

  const rows = <Row>(sql: string, params: readonly unknown[] = []): Promise<Row[]> =>
    host.get<DataSource>(DATABASE).query<Row[]>(sql, [...params]);
  const ordered = async (customerId: string): Promise<{ orderId: string; paymentId: string }> => {
    const { order } = await host.get(PlaceOrder).place({
      ...{ customerId, idempotencyKey: 'first' },
      items: [{ sku: SKU, quantity: 1 }],
    });
    const { payment } = await host.get(StartPayment).start({ orderId: order.id, customerId });
    return { orderId: order.id, paymentId: payment.id };
  };
  const run = <Result>(args: readonly string[], options?: RunOptions) =>
    lastcallJson<Result>(config, args, options);

  beforeAll(async () => {
    acme.around = async (call, when) => void (when === 'before' && calls.push(call));
    database = await createTestDatabase();
    config = { DATABASE_URL: database.url } as Config;
    const options: OrdersHostOptions = {
      postgres: { url: database.url },
      payments: [acme],
      windows: { pay: '10m', grace: '100ms' },
      settings: { SWEEP_INTERVAL: '1s' },
    };
    await migrate(hostOptionsAsConfig(options));
    const orders = OrdersModule.forRootAsync({ useFactory: () => options });
    host = await Test.createTestingModule({ imports: [orders] }).compile();
    host.useLogger(false);
    await host.init();
    await seedProducts(host.get<DataSource>(DATABASE));
    // Without hooks the command changes orders itself, and leaves to a worker only what needs the provider.
    await rows(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'an errand was left'; END $$`);
    await rows(`CREATE TRIGGER no_errands BEFORE INSERT ON errands FOR EACH ROW
                WHEN (NEW.what NOT IN ('orders.extend', 'refunds.create-at-provider')) EXECUTE FUNCTION refuse()`);
    ({ orderId } = await ordered('ann'));
    ({ paymentId: heldId } = await ordered('bob'));
    await holdMoney({ rows }, heldId, 499, 'amount_mismatch');
  });
  afterAll(async () => {
    await endHost();
    if (!hasStopped) await host?.close();
    await database?.drop();
  });

  it('looks at orders, at money on hold, and at how it all is', async () => {
    const shown = await run<{ order: { id: string } }>(['orders', 'show', orderId]);
    expect(shown).toMatchObject({ code: 0, stderr: '', result: { order: { id: orderId } } });
    const listed = await run<{ items: { id: string }[] }>(['orders', 'list']);
    expect(listed.result.items).toHaveLength(2);
    const held = await run<{ items: HeldPayment[] }>(['payments', 'list']);
    expect(held.result.items).toMatchObject([{ id: heldId, provider: 'acme' }]);
    expect((await run(['stats'])).code).toBe(0);
  });

  it('prices a product: the currency is one that money can be charged in', async () => {
    const put = (currency: string) => [
      ...['products', 'set', 'CUP', '--name', 'Cup', '--price', '500'],
      ...['--currency', currency, '--reason', 'new', '--actor', 'eve'],
    ];
    expect(await run(put('EUR'))).toMatchObject({ code: 0 });
    expect(await run(put('XTS'))).toMatchObject({ code: 2, result: { error: { code: 'usage' } } });
  });

  it('extends an order, and its payment at the provider, by a worker of the host', async () => {
    const asked: Date[] = [];
    const extendPayment: PaymentProvider['extendPayment'] = async (_payment, { expiresAt }) => {
      asked.push(expiresAt);
      return { state: 'EXTENDED', expiresAt };
    };
    Object.assign(acme, { extendPayment });
    const args = ['orders', 'extend', orderId, '--by', '15m', '--reason', 'case 17'];
    const { code, result } = await run<Extended>(args);
    expect({ code, asked }).toEqual({ code: 0, asked: [new Date(result.order.closesAt ?? '')] });
  });

  it('fences an order by force, and leaves it to the host to ask its provider', async () => {
    // The host asks at once, too: until the command has answered, the provider says nothing.
    acme.unreachable = 'before';
    const closed = await run(['orders', 'force-close', orderId, ...BY]);
    acme.unreachable = undefined;
    expect(closed).toMatchObject({ code: 0, result: { orders: [{ outcome: 'closing' }] } });
    const status = async () =>
      (await rows<{ status: string }>('SELECT status FROM orders WHERE id = $1', [orderId]))[0]
        ?.status;
    await until('the host has closed it', async () => (await status()) === 'closed');
    expect(calls).toEqual(expect.arrayContaining(['find', 'close']));
  });

  it('decides about money on hold, and leaves the refund to the host', async () => {
    const settled = await run(['payments', 'settle', heldId, '--refund', ...BY]);
    expect(settled).toMatchObject({ code: 0, result: { decision: 'refund' } });
    await until('the host has asked', () => calls.includes('refund'));
  });

  it('has a worker of the host ask its provider before it sends a part back', async () => {
    const { orderId: paidId, paymentId } = await ordered('cid');
    const { body, headers } = acme.pay(paymentId, new Date()) as Posted;
    await host.get(ReceiveWebhook).receive('acme', body, headers);
    const planRefund = ({ amount }: { amount: number }): void => {
      if (amount % 10 === 0) return;
      throw new LastcallError('amount_not_chargeable', 'acme sends back whole tens');
    };
    Object.assign(acme, { planRefund });
    const back = (amount: string) =>
      run<Failure>(['refunds', 'create', paidId, '--amount', amount, ...BY]);
    const refused = await back('105');
    expect(refused).toMatchObject({
      code: 2,
      result: { error: { code: 'amount_not_chargeable', message: 'acme sends back whole tens' } },
    });
    const refunds = () => rows('SELECT amount FROM refunds WHERE payment_id = $1', [paymentId]);
    expect(await refunds()).toEqual([]);
    expect(await back('110')).toMatchObject({ code: 0, result: { dryRun: false } });
    expect(await refunds()).toEqual([{ amount: '110' }]);
  });

  it('says in doctor that only the processes have it, and finds nothing wrong with that', async () => {
    const { code, result } = await run<{ checks: Check[] }>(['doctor']);
    expect([0, 7]).toContain(code);
    const ofProviders = result.checks.filter(({ area }) => area === 'provider');
    expect(ofProviders).toEqual([
      {
        ...{ area: 'provider', name: 'acme', state: 'ok', fix: null },
        detail: expect.stringContaining('only the processes have it') as string,
      },
    ]);
    expect(result.checks.find(({ name }) => name === 'processes agree')?.state).toBe('ok');
    expect(result.checks.find(({ name }) => name === 'migrations')?.state).toBe('ok');
  });

  it.each([
    ['reconcile', ['reconcile', '--since', '7d']],
    ['sweep run', ['sweep', 'run']],
  ])('refuses %s, which asks providers, by the name of that one', async (_, args) => {
    const { code, result } = await run<Failure>(args);
    expect({ code, error: result.error }).toMatchObject({
      code: 4,
      error: { code: 'provider_elsewhere', message: expect.stringContaining('acme') as string },
    });
  });

  it('refuses a name that no process has told of, but whoever runs it', async () => {
    const env = { PAYMENT_PROVIDERS: 'acne' };
    for (const args of [['orders', 'list'], ['stats'], ['doctor']]) {
      const { code, stderr } = await lastcall(config, args, { env });
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          'PAYMENT_PROVIDERS must name each of sandbox, stripe once at most, not "acne"',
        ) as string,
      });
    }
  });

  it('knows of the provider when all processes have stopped', async () => {
    await host.close();
    hasStopped = true;
    expect(await run(['orders', 'list'])).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['sweep', 'run'])).toMatchObject({
      code: 4,
      result: { error: { code: 'provider_elsewhere' } },
    });
  });
});
