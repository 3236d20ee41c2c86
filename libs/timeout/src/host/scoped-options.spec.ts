import 'reflect-metadata';
import { type DynamicModule, Global, Inject, Injectable, Module, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import {
  getTimeoutsToken,
  ScopedOptionsError,
  TimeoutModule,
  type TimeoutModuleOptions,
  Timeouts,
} from '../public';

/** An application whose options of TimeoutModule are made from providers of its own. */

let database: TestDatabase;
beforeAll(async () => (database = await createTestDatabase()));
afterAll(() => database?.drop());

const options = (): TimeoutModuleOptions => ({
  ...{ postgres: { url: database.url }, driver: 'memory', role: 'arm' },
});

@Injectable()
class Tenant {
  constructor(@Inject(REQUEST) readonly request: unknown) {}
}

/** Asks for nothing of a request itself. */
@Injectable()
class Vault {
  constructor(readonly tenant: Tenant) {}
}

@Injectable()
class Made {
  constructor(readonly vault: Vault) {}
  createTimeoutOptions(): TimeoutModuleOptions {
    return options();
  }
}

@Injectable({ scope: Scope.TRANSIENT })
class OfEach {}

@Global()
@Module({ providers: [Tenant, Vault, OfEach], exports: [Tenant, Vault, OfEach] })
class Shop {}

async function boot(deadlines: DynamicModule): Promise<TestingModule> {
  const module = await Test.createTestingModule({ imports: [Shop, deadlines] }).compile();
  return module.init();
}

const made = TimeoutModule.forRootAsync;

it.each<[string, string, () => DynamicModule]>([
  ['useFactory', 'Vault', () => made({ inject: [Vault], useFactory: options })],
  ['another one', 'Vault', () => made({ name: 'a', inject: [Vault], useFactory: options })],
  ['the request itself', 'REQUEST', () => made({ inject: [REQUEST], useFactory: options })],
  [
    ...(['beside one that is optional, and missing', 'Vault'] as const),
    () =>
      made({ inject: [{ token: 'MISSING', optional: true } as never, Vault], useFactory: options }),
  ],
  ['useClass', 'Made', () => made({ useClass: Made })],
])('refuses what is made anew for each request (%s)', async (_, by, deadlines) => {
  const refused: unknown = await boot(deadlines()).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ScopedOptionsError);
  expect((refused as Error).message).toMatch(
    new RegExp(`^TimeoutModule is given ${by}, .* request`),
  );
});

it('takes what is made for each that injects it', async () => {
  const module = await boot(made({ inject: [OfEach], useFactory: options }));
  expect(module.get(getTimeoutsToken(), { strict: false })).toBeInstanceOf(Timeouts);
  await module.close();
});
