import 'reflect-metadata';
import { hostOptionsAsConfig, migrate, OrdersModule, type OrdersHostOptions } from '@app/orders';
import { Logger } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';

/** A host that has not run the step of the deployment which makes the tables. */

let database: TestDatabase;
let options: OrdersHostOptions;
beforeAll(async () => {
  database = await createTestDatabase();
  const [postgres, payments] = [{ url: database.url }, [new LedgerProvider('acme')] as const];
  options = { postgres, schema: 'shop_orders', payments };
});
afterAll(() => database?.drop());

async function boot(role: 'ring' | 'arm'): Promise<void> {
  const orders = OrdersModule.forRootAsync({ role, useFactory: () => options });
  const host = await Test.createTestingModule({ imports: [orders] }).compile();
  host.useLogger(false);
  await host.init();
  await host.close();
}

it.each(['ring', 'arm'] as const)(
  'is told of them and what makes them, as role %s',
  async (role) => {
    const error: unknown = await boot(role).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'missing_tables' });
    const { message } = error as Error;
    expect(message).toContain('schema "shop_orders"');
    expect(message).toContain('migrate(hostOptionsAsConfig(options))');
  },
);

it('starts once they are made', async () => {
  await migrate(hostOptionsAsConfig(options));
  await boot('ring');
});

it('hears in its log of those that another version has made', async () => {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const rename = (from: string, to: string) =>
    client.query('UPDATE shop_orders.lastcall_migrations SET name = $2 WHERE name = $1', [
      from,
      to,
    ]);
  await rename('StoppedKinds1764160000000', 'OfANewer1999999999999');
  await client.end();
  const [errors, warnings] = (['error', 'warn'] as const).map((level) => {
    const told = jest.spyOn(Logger.prototype, level).mockReturnValue();
    return () => told.mock.calls.map(([text]) => String(text));
  });
  await boot('arm');
  expect(errors?.()).toEqual([
    expect.stringMatching(/older version \(StoppedKinds1764160000000\): run migrate\(/),
  ]);
  expect(warnings?.()).toEqual([expect.stringMatching(/newer version \(OfANewer1999999999999\)/)]);
  jest.restoreAllMocks();
});
