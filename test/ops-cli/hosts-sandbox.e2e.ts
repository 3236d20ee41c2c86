import 'reflect-metadata';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type Check,
  type Config,
  hostOptionsAsConfig,
  migrate,
  OrdersModule,
  type OrdersHostOptions,
  PlaceOrder,
} from '@app/orders';
import { Test, type TestingModule } from '@nestjs/testing';
import { SandboxProvider } from '../../libs/orders/src/sandbox';
import { WEBHOOK_SECRET } from '../support/app';
import { CLI_TEST_TIMEOUT_MS } from '../support/cli-world';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { endHost, lastcallJson } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

interface Failure {
  readonly error: { readonly code: string };
}

/** The command would make one of that name itself, and ask the ledger of another shop. */
describe('lastcall beside a host that brings a provider of one of our names', () => {
  let database: TestDatabase;
  let host: TestingModule;
  let config: Config;

  const run = <Result>(args: string, env: Readonly<Record<string, string>> = {}) =>
    lastcallJson<Result>(config, args.split(' '), { env });

  beforeAll(async () => {
    database = await createTestDatabase();
    config = { DATABASE_URL: database.url } as Config;
    const url = 'http://127.0.0.1:1';
    const options: OrdersHostOptions = {
      postgres: { url: database.url },
      payments: [new SandboxProvider({ url, webhookSecrets: [WEBHOOK_SECRET] })],
    };
    await migrate(hostOptionsAsConfig(options));
    const orders = OrdersModule.forRootAsync({ useFactory: () => options });
    host = await Test.createTestingModule({ imports: [orders] }).compile();
    host.useLogger(false);
    await host.init();
  });
  afterAll(async () => {
    await endHost();
    await host?.close();
    await database?.drop();
  });

  it.each([['reconcile --since 7d'], ['sweep run']])(
    'refuses %s, with its secret or without',
    async (args) => {
      const refused = { code: 4, result: { error: { code: 'provider_elsewhere' } } };
      expect(await run<Failure>(args)).toMatchObject(refused);
      const env = { SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET };
      expect(await run<Failure>(args, env)).toMatchObject(refused);
    },
  );

  it('takes in products, and the host places an order of one', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'lastcall-products-')), 'products.csv');
    writeFileSync(file, 'sku,name,unitPrice,currency,stock\nMUG,Mug,900,EUR,5\n');
    expect(await run(`products import ${file} --yes`)).toMatchObject({ code: 0 });
    rmSync(dirname(file), { recursive: true });
    const items = [{ sku: 'MUG', quantity: 1 }];
    const wanted = { customerId: 'ann', idempotencyKey: 'first', items };
    const { order } = await host.get(PlaceOrder).place(wanted);
    expect(order).toMatchObject({ status: 'pending_payment' });
  });

  it('opens no console: the host has none', async () => {
    expect(await run<Failure>('console open')).toMatchObject({
      code: 4,
      result: { error: { code: 'no_console' } },
    });
  });

  it('asks it nothing in doctor, as only the processes have it', async () => {
    const env = { SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET };
    const { result } = await run<{ checks: Check[] }>('doctor', env);
    expect(result.checks.filter(({ area }) => area === 'provider')).toMatchObject([
      {
        ...{ name: 'sandbox', state: 'ok' },
        detail: expect.stringContaining('only the processes have it') as string,
      },
    ]);
  });
});
