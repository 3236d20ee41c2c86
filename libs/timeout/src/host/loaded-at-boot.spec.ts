import 'reflect-metadata';
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { getTimeoutsToken, LazilyLoadedError, TimeoutModule, Timeouts } from '../public';

/** An application that loads deadlines once it runs, when Nest starts nothing any more. */

let database: TestDatabase;
let app: TestingModule;
beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  app = await Test.createTestingModule({ imports: [atBoot()] }).compile();
  await app.init();
});
afterEach(() => app?.close());
afterAll(() => database?.drop());

const deadlines = (name: string, role: 'arm' | 'ring'): DynamicModule =>
  TimeoutModule.forRoot({ name, role, postgres: { url: database.url }, driver: 'memory' });

/** Others that were loaded at boot change nothing. */
const atBoot = (): DynamicModule => deadlines('at-boot', 'ring');

function featureWith(imported: DynamicModule): Type {
  @Module({ imports: [imported] })
  class Feature {}
  return Feature;
}

const load = (module: DynamicModule | Type) => app.get(LazyModuleLoader).load(() => module);

it.each([
  ['by itself', (one: DynamicModule) => one],
  ['by a module that imports it', featureWith],
])('refuses deadlines that would never ring, loaded %s', async (_, as) => {
  const loading = load(as(deadlines('late', 'ring')));
  await expect(loading).rejects.toThrow(LazilyLoadedError);
  await expect(loading).rejects.toThrow('TimeoutModule is loaded lazily');
});

it('lets a process that only arms load them whenever it likes', async () => {
  const loaded = await load(deadlines('later', 'arm'));
  expect(loaded.get(getTimeoutsToken('later'))).toBeInstanceOf(Timeouts);
});

it('takes those that a test has in the place of others, which Nest keeps without a place of their own', async () => {
  const real = deadlines('replaced', 'ring');
  @Module({})
  class Shop {}
  const replaced = await Test.createTestingModule({ imports: [{ module: Shop, imports: [real] }] })
    .overrideModule(real as never)
    .useModule(deadlines('replaced', 'ring') as never)
    .compile();
  await replaced.init();
  expect(replaced.get(getTimeoutsToken('replaced'))).toBeInstanceOf(Timeouts);
  await replaced.close();
});
