import 'reflect-metadata';
import { type DynamicModule, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import {
  getTimeoutsToken,
  migrateTimeouts,
  SecondTimeoutModuleError,
  TimeoutModule,
  Timeouts,
} from '../public';

/** An application whose modules have each imported deadlines. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  for (const schema of ['first', 'other']) {
    await migrateTimeouts({ postgres: { url: database.url }, schema });
  }
});
afterAll(() => database?.drop());

const deadlines = (schema: string, name?: string): DynamicModule =>
  TimeoutModule.forRoot({
    ...{ name, schema, postgres: { url: database.url }, driver: 'memory', role: 'arm' },
  });

function featureWith(imported: DynamicModule) {
  @Module({ imports: [imported] })
  class Feature {}
  return Feature;
}

const boot = (...imports: readonly DynamicModule[]): Promise<TestingModule> =>
  Test.createTestingModule({ imports: imports.map(featureWith) })
    .setLogger(false as never)
    .compile();

it.each([undefined, 'trials'])('is told of two of one name (%s)', async (name) => {
  const booting = boot(deadlines('first', name), deadlines('other', name));
  const error: unknown = await booting.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SecondTimeoutModuleError);
  expect((error as Error).message).toContain(`under the name "${name ?? 'default'}"`);
});

it('has two of different names', async () => {
  const module = await boot(deadlines('first'), deadlines('other', 'other'));
  const [one, other] = [getTimeoutsToken(), getTimeoutsToken('other')].map((token) =>
    module.get<Timeouts>(token, { strict: false }),
  );
  expect(one).toBeInstanceOf(Timeouts);
  expect(other).toBeInstanceOf(Timeouts);
  expect(one).not.toBe(other);
  await module.close();
});

it('has one that several of its modules import', async () => {
  const one = deadlines('first');
  const module = await boot(one, one);
  expect(module.get(getTimeoutsToken(), { strict: false })).toBeInstanceOf(Timeouts);
  await module.close();
});

it.each(['ring', 'arm'] as const)(
  'may be closed twice, also at once, as by a signal and by hand (%s)',
  async (role) => {
    const told = jest.fn();
    const options = { schema: 'first', postgres: { url: database.url }, driver: 'memory', role };
    const module = await boot(TimeoutModule.forRoot(options));
    module.useLogger({ log: () => undefined, warn: told, error: told });
    await module.init();
    await Promise.all([module.close(), module.close()]);
    await module.close();
    expect(told.mock.calls).toEqual([]);
  },
);
